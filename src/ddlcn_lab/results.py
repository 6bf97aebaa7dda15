"""Rows of one or more runs, gathered by what they measure, with their means and intervals."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from ddlcn.errors import DDLCNError
from ddlcn_lab.grid import label
from ddlcn_lab.methods.registry import METHODS
from ddlcn_lab.protocols import PerClass
from ddlcn_lab.rows_file import RowsFile
from ddlcn_lab.run_folder import Run


class Key(NamedTuple):
    """What is measured; splits repeat it."""

    dataset: str
    method: str
    p: int | None
    q: int
    t: PerClass
    leak: bool

    @property
    def setting(self) -> str:
        """p-q as the paper writes it, or only what the method depends on."""
        method = METHODS.get(self.method.partition(":")[0])
        used = method.depends_on if method else "pq"
        if used == "pq":
            return label(self.p, self.q) if self.q else ""
        return {"p": f"p={self.p or 'A'}", "q": f"q={self.q}"}.get(used, "")


@dataclass(frozen=True)
class Mean:
    """Percent over splits.

    Examples
    --------
    >>> print(Mean.of([np.array([1, 1, 1, 0]), np.array([1, 1, 0, 0])]))
    62.50 ± 17.68
    """

    mean: float
    std: float | None  # None for one split
    half: float  # of the 95 % interval: by Student's t over splits, or over the images of the only one
    n: int

    @classmethod
    def of(cls, splits: Iterable[np.ndarray]) -> Mean:
        """Mean, standard deviation and interval, from a number for each image of each split."""
        images = [100 * np.asarray(split, float) for split in splits]
        values = np.array([split.mean() for split in images])
        if len(values) == 1:
            half = 1.96 * float(images[0].std()) / len(images[0]) ** 0.5
            return cls(float(values[0]), None, half, 1)
        std = float(values.std(ddof=1))
        half = float(student.ppf(0.975, len(values) - 1)) * std / len(values) ** 0.5
        return cls(float(values.mean()), std, half, len(values))

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")

    @property
    def interval(self) -> str:
        """The 95 % interval."""
        return f"{max(0, self.mean - self.half):.2f} to {min(100, self.mean + self.half):.2f}"


class Results:
    """All rows of some runs.

    Parameters
    ----------
    runs : iterable of paths
        Run folders, and files of `ddlcn bench paper`.

    Attributes
    ----------
    rows : dict
        By key, and by (seed, split).
    classes : dict
        Names of classes by data set.
    missing : int
        Number of rows that are not computed yet.
    errors : dict
        By key, why a method failed.
    sources : dict
        By file, the hash of the source of its rows, and the number of rows of other sources, which are left out.
    """

    def __init__(self, runs: Iterable[str | os.PathLike[str]]) -> None:
        self.rows: dict[Key, dict[tuple[int, int], dict[str, Any]]] = {}
        self.classes: dict[str, list[str]] = {}
        self.missing = 0
        self.errors: dict[Key, str] = {}
        self.sources: dict[str, tuple[str, int]] = {}
        for path in map(Path, runs):
            if path.suffix == ".jsonl":
                if not path.exists():
                    raise DDLCNError(f"{str(path)!r} is not there: make it with `ddlcn bench paper --out`")
                file = RowsFile(path)
                self.sources[path.name] = file.source, len(file.others)
                for row in file.rows:
                    self.classes[row["dataset"]] = row.get("classes", self.classes.get(row["dataset"], []))
                    self._add(row["dataset"], row)
                continue
            run = Run(path)
            grid, rows = run.manifest["grid"], run.rows()
            self.classes[grid["dataset"]] = run.manifest["classes"]
            self.missing += run.expected() - len(rows)
            for row in rows:
                self._add(grid["dataset"], row)

    def _add(self, dataset: str, row: dict[str, Any]) -> None:
        key = Key(dataset, *(row[name] for name in Key._fields[1:]))
        if "error" in row:
            self.errors[key] = row["error"]
        else:
            self.rows.setdefault(key, {}).setdefault((row["seed"], row["split"]), row)

    @property
    def commits(self) -> set[str]:
        """The commits that rows were computed by."""
        return {str(row["commit"]) for splits in self.rows.values() for row in splits.values()}

    def mean(self, key: Key) -> Mean:
        """Accuracy over splits."""
        return Mean.of(_right(row) for row in self.rows[key].values())

    def balanced(self, key: Key) -> float:
        """Return the balanced accuracy in percent, the mean over splits."""
        return 100 * float(np.mean([row["balanced_accuracy"] for row in self.rows[key].values()]))

    def fit_seconds(self, key: Key) -> float:
        """Return the seconds of a training: the median over splits."""
        return float(np.median([row["seconds"]["fit"] for row in self.rows[key].values()]))

    def ms(self, key: Key) -> float:
        """Return milliseconds per test image: the median over splits."""
        return float(np.median([row["ms_per_test_image"] for row in self.rows[key].values()]))

    def gain(self, key: Key, over: Key) -> Mean | None:
        """Return the difference of accuracies on the splits that both have."""
        both = self.rows[key].keys() & self.rows.get(over, {}).keys()
        if not both:
            return None
        rows = ((self.rows[key][split], self.rows[over][split]) for split in sorted(both))
        return Mean.of(_right(row) - _right(other) for row, other in rows)

    def confusion(self, key: Key) -> np.ndarray:
        """Return counts over all splits that have them, a row per true class and a column per predicted class."""
        k = len(self.classes[key.dataset])
        counts = np.zeros((k, k), int)
        for row in self.rows[key].values():
            if "truth" in row:
                np.add.at(counts, (row["truth"], row["predicted"]), 1)
            for true, predicted, n in row.get("confusion", ()):
                counts[true, predicted] += n
        return counts

    def confused_pairs(self, key: Key, n: int = 3) -> list[tuple[str, str, int]]:
        """Return the n pairs of classes that are most often confused, in either direction."""
        counts = self.confusion(key)
        both = np.triu(counts + counts.T, 1)
        names = self.classes[key.dataset]
        order = np.argsort(-both, axis=None, kind="stable")[:n]
        pairs = (np.unravel_index(i, both.shape) for i in order)
        return [(names[a], names[b], int(both[a, b])) for a, b in pairs if both[a, b]]

    def class_accuracy(self, key: Key) -> np.ndarray:
        """Return the recall of each class, over all splits."""
        counts = self.confusion(key)
        return np.diag(counts) / np.maximum(counts.sum(axis=1), 1)


def _right(row: dict[str, Any]) -> np.ndarray:
    """1 for each test image that was classified correctly, else 0."""
    if "wrong" in row:
        right = np.ones(row["images"]["test"], int)
        right[row["wrong"]] = 0
        return right
    return (np.array(row["truth"]) == np.array(row["predicted"])).astype(int)
