"""Grids from what a user types."""

import json

import pytest

from ddlcn.baselines.registry import METHODS, Method
from ddlcn.errors import DDLCNError
from ddlcn.experiments.grid import ABLATION, KINDS, Grid, make_grid


def test_paper_settings_are_the_default():
    grid = make_grid("yaleb")
    assert grid.settings == ((1, 1), (15, 15), (55, 15), (None, 15))
    assert (grid.t, grid.splits) == ((0.5,), 10)
    assert make_grid("caltech256").t == (15, 30, 45, 60)
    assert make_grid("mnist").t == (None,)


@pytest.mark.parametrize("kind", KINDS)
def test_grids_survive_json(kind):
    grid = make_grid("yaleb", kind)
    assert Grid.from_facts(json.loads(json.dumps(grid.facts()))) == grid
    assert len(set(grid.jobs())) == len(grid.jobs())


def test_ablation_changes_one_thing_at_a_time():
    assert make_grid("yaleb", "ablation").methods == ABLATION
    assert make_grid("yaleb", "ablation").settings == ((15, 15),)
    assert make_grid("mnist", "ablation").settings == ((1, 2),)


def test_commas_in_parentheses_do_not_separate():
    assert make_grid("ar", methods="ddlcn:neighbors=(5,10),llc").methods == ("ddlcn:neighbors=(5,10)", "llc")


def test_leaked_rows_come_with_honest_ones():
    jobs = make_grid("ar", settings="1-1", splits=1, leak=True).jobs()
    assert [job.leak for job in jobs] == [False, True]


def test_what_a_method_does_not_heed_is_not_repeated(monkeypatch):
    monkeypatch.setitem(METHODS, "pixels", Method("", METHODS["ddlcn"].make, heeds=""))
    assert len(make_grid("ar", methods="pixels", splits=1).jobs()) == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"kind": "nope"}, "choose from table, curves"),
        ({"settings": "15"}, "as in 15-15"),
        ({"settings": "0-1"}, "as in 15-15"),
        ({"t": "x"}, "a share such as 0.5"),
        ({"splits": 0}, "at least 1"),
        ({"methods": "ddlcn,nope"}, "'nope' is unknown"),
        ({"dataset": "digits", "kind": "curves"}, "choose from yaleb, ar"),
    ],
)
def test_mistakes_are_told(asked, told):
    with pytest.raises(DDLCNError, match=told):
        make_grid(**{"dataset": "yaleb", **asked})
