"""The registry: every method makes an estimator, and names may change its parameters."""

import pytest

from ddlcn.baselines.registry import METHODS, get_method
from ddlcn.errors import DDLCNError


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_an_estimator(name):
    model = get_method(name).make(None, 2, 0, 1)
    assert hasattr(model, "fit")
    assert hasattr(model, "predict")


def test_parameters_in_a_name():
    model = get_method("ddlcn:neighbors=(5,10)+coder=llc+min_channel=True").make(3, 2, 7, None)
    assert (model.neighbors, model.coder, model.min_channel, model.random_state) == ((5, 10), "llc", True, 7)


@pytest.mark.parametrize("name", ["ddlcn:nonsense=1", "ddlcn:beta", "ddlcn:beta=1=2"])
def test_wrong_parameters_are_one_line(name):
    with pytest.raises(DDLCNError, match="write name:parameter=value") as error:
        get_method(name)
    assert "\n" not in str(error.value)


def test_unknown_method_lists_the_known():
    with pytest.raises(DDLCNError, match="'nope' is unknown; choose from ddlcn, "):
        get_method("nope")
