"""Grids from what a user types."""

import json

import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.grid import KINDS, Grid, make_grid


def test_default_settings():
    grid = make_grid("yaleb")
    assert grid.settings == ((1, 1), (15, 15), (55, 15), (None, 15))
    assert (grid.t, grid.splits) == ((0.5,), 10)
    assert make_grid("caltech256").t == (15, 30, 45, 60)
    assert (make_grid("wbc1").t, make_grid("mnist").t) == ((5, 20), (None,))
    assert len(make_grid("ar", methods="nearest", splits=1).jobs()) == 1  # settings do not matter


@pytest.mark.parametrize("kind", KINDS)
def test_json(kind):
    grid = make_grid("yaleb", kind)
    assert Grid.from_facts(json.loads(json.dumps(grid.facts()))) == grid
    assert len(set(grid.jobs())) == len(grid.jobs())


def test_commas_in_parentheses():
    names = "ddlcn:sift__pooling__levels=(1,2)", "llc"
    assert make_grid("ar", methods=",".join(names)).methods == names


def test_leaked_rows():
    jobs = make_grid("ar", methods="ddlcn,nearest", settings="1-1", splits=1, leak=True).jobs()
    assert [(job.method, job.leak) for job in jobs] == [("ddlcn", False), ("nearest", False), ("ddlcn", True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "nope"}, "choose from table, curves"),
        ({"settings": "15"}, "as in 15-15"),
        ({"settings": "0-1"}, "as in 15-15"),
        ({"t": "x"}, "a share such as 0.5"),
        ({"splits": 0}, "at least 1"),
        ({"methods": "ddlcn,nope"}, "'nope' is unknown"),
        ({"dataset": "digits", "kind": "curves"}, "choose from yaleb, ar"),
        ({"methods": "nearest", "leak": True}, "can't run with the leak"),
    ],
)
def test_invalid_arguments(arguments, message):
    with pytest.raises(DDLCNError, match=message):
        make_grid(**{"dataset": "yaleb", **arguments})
