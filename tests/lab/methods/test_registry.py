"""Methods by name, and what they refuse."""

import pytest

from ddlcn import DDLCNError
from ddlcn_lab.methods import memory
from ddlcn_lab.methods.registry import METHODS, get_method

OTHERS = [name for name in METHODS if not name.startswith(("ddlcn", "mnist"))]


def test_nested_parameters():
    model = get_method("ddlcn-llc:sift__coder__n_neighbors=5+sift__pooling__minima=True+C=10.0").make(3, 2, 0, None)
    (sift,) = model.channels
    assert (sift.coder.n_neighbors, sift.deeper_coder.n_neighbors, sift.pooling.minima, model.C) == (5, 10, True, 10)
    assert (sift.dictionary.images_per_class, sift.dictionary.atoms_per_class) == (3, 2)


@pytest.mark.parametrize(
    "name", ["nope", "ddlcn:sift__coder__nope=1", "ddlcn:nope=1", "ddlcn:color__power=1", "ddlcn:C"]
)
def test_unknown_names(name):
    with pytest.raises(DDLCNError, match=r"choose from ddlcn|write name:parameter=value"):
        get_method(name)


@pytest.mark.parametrize("name", [n for n in OTHERS if n not in ("cnn", "frozen-vgg", "llc", "llc-30", "llc-70")])
def test_memory(name, pictures, monkeypatch):
    """All but methods that hold little more than their images."""
    monkeypatch.setattr(memory, "LARGEST", 0)
    model = get_method(name).make(5, 5, 0, None)
    if "codebookfeatures" in model.get_params():
        model.set_params(codebookfeatures__n_atoms=10)
    with pytest.raises(DDLCNError, match="GB"):
        model.fit(list(pictures[0]), pictures[1])
