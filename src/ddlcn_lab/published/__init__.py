"""The figures of the paper's tables 1 to 4, every method of each, transcribed from its source.

Columns: the method as the paper names it; our data set and t (training images per class) of that column;
accuracy and its ± in percent and the time in ms, empty where the paper has a dash; and what it is called
here (`ddlcn_lab.methods.registry`), with p and q where the paper gives them.
"""

import csv
from importlib.resources import files
from typing import NamedTuple

from ddlcn_lab.protocols import PerClass

TABLES = {
    "table1_yaleb": "Table 1: Extended Yale B",
    "table2_ar": "Table 2: AR Face",
    "table3_caltech256": "Table 3: Caltech-256",
    "table4_mnist": "Table 4: MNIST",
}


class Figure(NamedTuple):
    """One cell of a table of the paper."""

    method: str
    dataset: str
    t: PerClass
    accuracy: float | None
    std: float | None
    ms: float | None
    ours: str
    p: str  # a number, A, or empty: any
    q: str

    def __str__(self) -> str:
        if self.accuracy is None:
            return "–"
        return f"{self.accuracy:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")


def read_table(name: str) -> list[Figure]:
    """Return all cells of a table.

    Examples
    --------
    >>> print(read_table("table4_mnist")[-1])
    99.02
    """
    lines = (files(__name__) / f"{name}.csv").read_text("utf-8").splitlines()
    return [_figure(row) for row in csv.DictReader(lines)]


def _figure(row: dict[str, str]) -> Figure:
    t = None if row["t"] == "all" else float(row["t"]) if "." in row["t"] else int(row["t"])
    accuracy, std, ms = (float(row[key]) if row[key] else None for key in ("accuracy", "std", "ms"))
    return Figure(row["method"], row["dataset"], t, accuracy, std, ms, row["ours"], row["p"], row["q"])
