"""What a preset has, what is given in its place, and what is refused before any work."""

import numpy as np
import pytest

from ddlcn import Channel, DDLCNClassifier, DDLCNError, DenseSIFT, MeanGrid, presets
from ddlcn.channel import nested_params
from ddlcn.presets import settings_of
from ddlcn.selection import first_weight


def test_paper_is_one_channel_without_selection():
    found = presets.paper()
    assert [channel.name for channel in found.channels] == ["sift"]
    assert (found.deskew, found.augmentation, found.C) == (False, "none", 1.0)
    params = nested_params(found.channels)
    wanted = {"descriptor__step": 6, "descriptor__patch_size": 16, "descriptor__contrast_threshold": 1.0}
    wanted |= {"coder__n_neighbors": 15, "pooling__levels": (1, 2, 4), "dictionary__l1_radius": 0.35, "power": 1.0}
    assert {name: params[f"sift__{name}"] for name in wanted} == wanted


def test_best_selects_and_has_five_channels():
    found = presets.best()
    weights = {channel.name: channel.weight for channel in found.channels}
    assert weights == {"sift": 1.0} | dict.fromkeys(("sift_grid", "color", "covariance", "covariance_grid"), "auto")
    sift, sift_grid, color, covariance, covariance_grid = found.channels
    assert sift_grid.dictionary == "sift"
    assert covariance.descriptor is covariance_grid.descriptor
    assert [channel.descriptor.step for channel in (sift, color, sift_grid, covariance)] == [12, 12, 8, 8]
    dense = covariance.descriptor.get_params()
    assert sift_grid.descriptor.get_params() == {name: value for name, value in dense.items() if name != "color"}
    assert (found.deskew, found.augmentation, found.C) == ("auto", "auto", "auto")


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_parameters_of_the_classifier_reach_dictionaries(preset):
    model = DDLCNClassifier(preset=preset, images_per_class=None, atoms_per_class=7, deeper_atoms=(9, 4))
    dictionary = settings_of(model).channels[0].dictionary
    assert (dictionary.images_per_class, dictionary.atoms_per_class, dictionary.deeper_atoms) == (None, 7, (9, 4))
    default = settings_of(DDLCNClassifier(preset=preset)).channels[0].dictionary
    assert (default.images_per_class, default.atoms_per_class, default.deeper_atoms) == ("auto", "auto", (64,))


def test_given_settings_replace_those_of_the_preset():
    found = settings_of(DDLCNClassifier(preset="paper", deskew=True, augmentation="flip"))
    assert (found.deskew, found.augmentation, found.C) == (True, "flip", 1.0)
    mean = Channel("mean", DenseSIFT(), None, MeanGrid())
    found = settings_of(DDLCNClassifier(channels=[mean], C=2.0, deskew=False))
    assert (found.channels, found.deskew, found.augmentation, found.C) == ((mean,), False, "auto", 2.0)


INVALID = {
    "preset": ["good", 3],
    "atoms_per_class": [0],
    "images_per_class": ["many"],
    "deeper_atoms": [64],
    "C": [-1.0, "cv"],
}
INVALID |= {"deskew": ["yes"], "augmentation": ["moved"]}
INVALID |= {"channels": [[], presets.paper().channels * 2, ["sift"], presets.paper().channels[0]]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in INVALID for value in INVALID[name]])
def test_invalid_parameters_are_refused_before_any_work(name, value):
    """Before the files are looked for."""
    with pytest.raises(DDLCNError, match=f"{name}=") as error:
        DDLCNClassifier(**{name: value}).fit(["no such file"] * 4, [0, 0, 1, 1])
    assert "no such file" not in str(error.value)


BACKBONES = {
    "network 'lite0' is unknown; choose from efficientnet-lite0": {"backbone": "lite0"},
    r"network 'no.onnx' can't be read \(No such file": {"backbone": "no.onnx"},
    "leave it out with channels=": {"backbone": "efficientnet-lite0", "channels": list(presets.best().channels)},
    "augmentation='affine': with channel 'backbone', one of 'none', 'flip'": {
        "backbone": "efficientnet-lite0",
        "augmentation": "affine",
    },
}


@pytest.mark.parametrize("message", BACKBONES)
def test_invalid_backbone(message):
    pytest.importorskip("onnxruntime", reason="needs the extra backbone")
    with pytest.raises(DDLCNError, match=message):
        DDLCNClassifier(**BACKBONES[message]).fit(["no such file"] * 4, [0, 0, 1, 1])


def test_backbone_adds_two_channels():
    pytest.importorskip("onnxruntime", reason="needs the extra backbone")
    found = settings_of(DDLCNClassifier(backbone="efficientnet-lite0")).channels
    assert [channel.name for channel in found] == [
        "sift",
        "sift_grid",
        "color",
        "covariance",
        "covariance_grid",
        "backbone",
        "backbone_mean",
    ]
    assert [channel.descriptor.output for channel in found[5:]] == ["stage7", "head"]
    assert len(found[5].descriptor.sha256) == 64
    assert list(map(first_weight, found)) == [1, 1, 1, 1, 1, 2, 2]


def test_invalid_part_is_refused_before_any_work():
    (sift,) = presets.paper().channels
    with pytest.raises(DDLCNError, match="beta=-1"):
        DDLCNClassifier(channels=[sift.with_params(coder__beta=-1)]).fit(["no such file"] * 4, [0, 0, 1, 1])


def test_deskew_as_numpy_gives_it():
    for given in (np.True_, np.False_):
        assert settings_of(DDLCNClassifier(deskew=given)).deskew is bool(given)
