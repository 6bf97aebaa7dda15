"""Parts of a channel describe themselves by kind and parameters, in JSON's types."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from ddlcn.layers.part import Part
from ddlcn.layers.sift import DenseSIFT

WITHOUT_NETWORK = {f"ddlcn.{name}" for name in ("layers.sift", "layers.coding", "layers.pooling", "layers.dictionary")}
WITHOUT_NETWORK.add("ddlcn.descriptors.color")
PARTS = {name: kind for name, kind in Part.kinds.items() if kind.role and kind.__module__ in WITHOUT_NETWORK}


@pytest.mark.parametrize("kind", PARTS.values(), ids=PARTS)
def test_description_has_all_parameters(kind):
    found = kind().to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found.pop("kind") == kind.__name__
    assert {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()} == kind().get_params()


def test_parameters_of_a_dataclass(monkeypatch):
    """Its __init__ comes after the class."""
    monkeypatch.setattr(Part, "kinds", dict(Part.kinds))

    @dataclass(eq=False)
    class Scaled(Part):
        factor: float = 2.0

    assert Scaled(3.0).to_dict() == {"kind": "Scaled", "factor": 3.0}
    assert Scaled(3.0).get_params() == {"factor": 3.0}


def test_values_of_numpy_become_plain():
    found = DenseSIFT(patch_size=(np.int64(8), 12), step=np.int32(4), contrast_threshold=np.float64(0.5)).to_dict()
    assert (found["patch_size"], found["step"], found["contrast_threshold"]) == ([8, 12], 4, 0.5)
    assert {type(found["patch_size"][0]), type(found["step"]), type(found["contrast_threshold"])} == {int, float}
