"""docs/methods.md speaks of every system of the paper's tables, and of every method that runs."""

import csv
from importlib.resources import files
from pathlib import Path

from ddlcn.baselines.registry import METHODS

PAGE = (Path(__file__).parents[2] / "docs/methods.md").read_text()


def test_every_published_system_has_its_row():
    for table in files("ddlcn.experiments").joinpath("published").iterdir():
        if table.name.endswith(".csv"):
            for row in csv.DictReader(table.read_text("utf-8").splitlines()):
                name = row["method"].split(" (")[0]
                assert name.startswith("DDLCN") or f"| {name}" in PAGE, f"{name} of {table.name}"


def test_every_method_is_named():
    assert [name for name in METHODS if f"`{name}`" not in PAGE and name != "ddlcn"] == []
