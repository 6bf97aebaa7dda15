"""The plan of `ddlcn bench paper`."""

import json
from collections import Counter

import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.methods.registry import METHODS, get_method
from ddlcn_lab.paper import base_name, describe, entries, is_ours, plan, remaining
from ddlcn_lab.published import TABLES, read_table
from ddlcn_lab.results import Key
from ddlcn_lab.rows_file import RowsFile
from ddlcn_lab.tables import matches, planned_keys


@pytest.fixture
def file(tmp_path):
    return RowsFile(tmp_path / "paper.jsonl")


def test_every_published_row_that_runs_is_planned():
    keys = planned_keys()
    for figure in (figure for name in TABLES for figure in read_table(name)):
        if figure.ours:
            assert any(matches(key, figure) for key in keys), figure


def test_all_methods_and_splits(file):
    found = [entry.task for entry, _ in plan(file)]
    left_out = {"frozen-vgg", *(name for name in METHODS if name.startswith("ddlcn-best-"))}
    assert {base_name(task.job.method) for task in found} == set(METHODS) - left_out
    for name in {task.job.method for task in found}:
        get_method(name)  # parameters are valid
    splits = Counter(Key(task.dataset, *task.job[:4], task.job.leak) for task in set(found))
    for key, n in splits.items():
        assert n == (1 if key.dataset == "mnist" else 10 if is_ours(key.method) else 3), key


def test_order(file):
    """Ours on small sets, others there, then large sets; cheap rows first."""
    found = [entry.task for entry, _ in plan(file) if entry.table not in ("curves", "leak")]
    ours = [
        n for n, task in enumerate(found) if is_ours(task.job.method) and task.dataset not in ("mnist", "caltech101")
    ]
    assert ours == list(range(len(ours)))
    first_large = next(n for n, task in enumerate(found) if task.dataset in ("mnist", "caltech101"))
    assert "hog" in {task.job.method for task in found[:first_large]}
    assert found[0].dataset == "wbc1"


def test_parts(file):
    found = [entry for entry, _ in plan(file, "table2,wbc1", "ddlcn-best,dpl", 2)]
    assert {entry.task.dataset for entry in found} == {"ar", "wbc1"}
    assert {entry.task.job.method for entry in found} == {"ddlcn-best", "dpl", "dpl:randomfaces__n_features=540"}
    assert {entry.task.job.split for entry in found} == {0, 1}
    for arguments in (("table9",), (None, "nope")):
        with pytest.raises(DDLCNError, match="is unknown; choose from"):
            plan(file, *arguments)


def test_estimate_by_rows(file):
    """A time that was measured replaces the guess, and rows that are there are not left."""
    (entry, _), *_ = plan(file, "wbc1", "hog", 1)
    row = {"source": file.source, "dataset": "wbc1", "seed": 0, **entry.task.job._asdict()}
    file.path.write_text(json.dumps(row | {"seconds": {"fit": 3000.0, "predict": 600.0}}) + "\n")
    file.refresh()
    found = plan(file, "wbc1", "hog", 2)
    assert {cost for each, cost in found if each.task.job.t == entry.task.job.t} == {3600.0}
    assert len(remaining(file, found)) == 3
    assert "wbc1            others       4     3" in describe(file, found)


def test_curves_have_no_useless_points():
    assert all(entry.task.job.p <= entry.task.job.t for entry in entries() if entry.table == "curves")
