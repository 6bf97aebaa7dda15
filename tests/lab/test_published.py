"""The transcription against the paper's source."""

import re

import pytest

from ddlcn_lab.methods.registry import METHODS, get_method
from ddlcn_lab.published import TABLES, read_table
from tests.helpers import ROOT

PAPER = ROOT.parent / "shared" / "paper.tex"
LABELS = dict(zip(TABLES, ("table:extendedYaleB", "table_AR", "table_Caltech256", "table_mnist"), strict=True))


def cells_of_paper(name):
    """(method, [cells]) of each line of a table."""
    tables = PAPER.read_text().split("\\begin{table}")
    (table,) = (table for table in tables if f"\\label{{{LABELS[name]}}}" in table)
    for line in table.splitlines():
        line = line.split("\\\\")[0]
        if "&" in line and "Method" not in line and "Num. of" not in line:
            method, *cells = (cell.strip() for cell in line.split("&"))
            method = re.sub(r"\\cite\{.*?\}", "", method).strip()
            method = method.replace(r"\_", "_").replace("L$_1$", "L1").replace(r"$\beta$", "β")
            yield method, [re.sub(r"\\textbf\{|\}", "", c).replace(r" $\pm$ ", "±").strip() for c in cells]


@pytest.mark.skipif(not PAPER.exists(), reason="needs ../shared/paper.tex")
@pytest.mark.parametrize("name", TABLES)
def test_every_cell(name):
    figures = read_table(name)
    timed = name in ("table1_yaleb", "table2_ar")
    expected = []
    for method, cells in cells_of_paper(name):
        ms = cells.pop() if timed else "-"
        for cell in cells:
            accuracy, _, std = cell.partition("±")
            expected.append((method, *(float(x) if x not in ("", "-") else None for x in (accuracy, std, ms))))
    assert [(f.method, f.accuracy, f.std, f.ms) for f in figures] == expected


@pytest.mark.parametrize(("name", "n_methods"), zip(TABLES, (26, 22, 25, 9), strict=True))
def test_number_of_methods(name, n_methods):
    assert len({figure.method for figure in read_table(name)}) == n_methods


def test_our_rows():
    ours = {(f.p, f.q): f.accuracy for f in read_table("table1_yaleb") if f.ours == "ddlcn" and f.dataset == "yaleb"}
    assert ours == {("1", "1"): 87.42, ("15", "15"): 97.38, ("55", "15"): 97.68, ("A", "15"): 98.34}


def test_names_of_methods():
    named = {f.ours for name in TABLES for f in read_table(name) if f.ours.partition(":")[0] in METHODS}
    for name in named:
        get_method(name)
    assert {"ddlcn", "src", "llc-30", "k-svd", "lc-ksvd2:randomfaces__n_features=540"} <= named


def test_page_of_methods():
    """It has every method of the paper's tables, and every registered one."""
    (page,) = (path.read_text() for path in (ROOT / "docs").rglob("methods.md"))
    published = {f.method.split(" (")[0] for name in TABLES for f in read_table(name)}
    assert [name for name in published if not name.startswith("DDLCN") and f"| {name}" not in page] == []
    assert [name for name in METHODS if f"`{name}`" not in page and name != "ddlcn"] == []
