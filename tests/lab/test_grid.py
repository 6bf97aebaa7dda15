"""Grids from what a user types."""

import json

import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.grid import KINDS, Grid, make_grid
from ddlcn_lab.methods.registry import get_method


def test_default_settings():
    grid = make_grid("yaleb")
    assert grid.settings == ((1, 1), (15, 15), (55, 15), (None, 15))
    assert (grid.t, grid.splits) == ((0.5,), 10)
    assert make_grid("caltech256").t == (15, 30, 45, 60)
    assert (make_grid("wbc1").t, make_grid("mnist").t) == ((5, 20), (None,))
    assert len(make_grid("ar", methods="nearest", splits=1).jobs()) == 1  # settings do not matter


def test_auto_setting():
    """Without p-q, or with auto, preset best chooses the numbers of images and atoms; p-q stay explicit."""
    for arguments in ({}, {"settings": "auto"}):
        auto = make_grid("wbc1", methods="ddlcn-best,hog,ddlcn-backbone", t="5", splits=1, **arguments)
        jobs = {job.method: (job.p, job.q) for job in auto.jobs()}
        assert jobs == dict.fromkeys(("ddlcn-best", "hog", "ddlcn-backbone"), (None, 0))
    given = make_grid("wbc1", methods="ddlcn-best", settings="A-7,3-4", t="5", splits=1)
    for grid, counts in ((auto, [("auto", "auto")]), (given, [(None, 7), (3, 4)])):
        jobs = [job for job in grid.jobs() if job.method == "ddlcn-best"]
        dictionaries = [get_method(job.method).make(job.p, job.q, 0, None).channels[0].dictionary for job in jobs]
        assert [(each.images_per_class, each.atoms_per_class) for each in dictionaries] == counts
    assert make_grid("wbc1", methods="ddlcn-best,ddlcn").settings == ((15, 15),)


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
        ({"settings": "auto", "methods": "ddlcn-best,k-svd"}, "'k-svd' needs p-q"),
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
