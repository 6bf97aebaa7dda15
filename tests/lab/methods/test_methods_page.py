"""docs/methods.md has every method of the paper's tables, and every registered one."""

import csv
from importlib.resources import files
from pathlib import Path

from ddlcn_lab.methods.registry import METHODS

(PAGE,) = (path.read_text() for path in (Path(__file__).parents[3] / "docs").rglob("methods.md"))


def test_published_methods():
    for table in files("ddlcn_lab").joinpath("published").iterdir():
        if table.name.endswith(".csv"):
            for row in csv.DictReader(table.read_text("utf-8").splitlines()):
                name = row["method"].split(" (")[0]
                assert name.startswith("DDLCN") or f"| {name}" in PAGE, f"{name} of {table.name}"


def test_registered_methods():
    assert [name for name in METHODS if f"`{name}`" not in PAGE and name != "ddlcn"] == []
