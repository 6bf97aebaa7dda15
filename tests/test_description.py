"""A fitted model as a dict and in plain words."""

import json

import numpy as np
import pytest

from ddlcn import DDLCNClassifier
from ddlcn.description import card, describe, describe_training, networks, selection_sentences, settings

GAIN = "in held-out log-likelihood over"


def row(setting: str, candidate, gain=None, error=None, chosen=False, reason="default") -> dict:
    found = {"setting": setting, "candidate": candidate, "mean_gain": gain, "standard_error": error}
    return found | {"chosen": chosen, "reason": reason}


@pytest.fixture(scope="module")
def model() -> DDLCNClassifier:
    images = np.random.default_rng(0).random((8, 24, 24))
    return DDLCNClassifier(atoms_per_class=2, deeper_atoms=(4,)).fit(images, ["a", "b"] * 4)


def test_describe(model: DDLCNClassifier) -> None:
    found = describe(model)
    assert json.loads(json.dumps(found))["classes"] == ["a", "b"]
    assert found.items() >= model.encoder_.to_dict().items()
    assert (found["n_train"], found["atoms"], found["C"]) == (8, {"sift": [4, 4]}, model.svm_.C_)
    assert found["selection"] == model.selection_


def test_settings(model: DDLCNClassifier) -> None:
    found = settings(describe(model))
    assert found.items() >= {"deskew": "no", "sift.weight": "1", "sift.atoms": "4 + 4", "sift.power": "0.5"}.items()
    assert found["sift.coder"] == "LocalityCoder(beta=0.05, n_neighbors=20)"
    assert found["augmentation"] == model.augmentation_
    assert found["covariance_grid.descriptor"] == "that of covariance"


def test_network(model: DDLCNClassifier) -> None:
    assert networks(describe(model)) == []
    descriptor = {"kind": "Backbone", "network": "lite", "sha256": "0123456789ab" + 52 * "f"}
    channels = [{"name": name, "descriptor": descriptor} for name in ("backbone", "backbone_mean")]
    described = describe(model) | {"channels": channels, "weights": [1.0, 0.5]}
    assert networks(described) == ["lite"]
    found = settings(described)
    assert found["backbone.descriptor"] == "Backbone(network='lite', sha256='0123456789ab…')"
    assert (found["backbone_mean.descriptor"], found["backbone_mean.weight"]) == ("that of backbone", "0.5")


@pytest.mark.parametrize(
    ("setting", "rows", "sentence"),
    [
        ("deskew", [(None, None, None, True, "given")], "no (given)"),
        ("deskew", [([0.2, 0.1], None, None, True, "given")], "yes (given)"),
        ("deskew", [(False, 0, 0), (True, 0.1, 0.02, True)], f"yes (gain 0.100 ± 0.020 {GAIN} the default no)"),
        ("x", [("a", 0, 0, True), ("b", 0.1, 0.2)], "a (the default; b gained no more than one standard error)"),
        ("x", [(1.0, 0, 0), (0.0, 0.2, 0.1), (0.5, 0.3, 0.1, True)], f"0.5 (gain 0.300 ± 0.100 {GAIN} 0)"),
        ("C", [(1.0, -0.1), (10.0, 0.0, None, True, "best held-out")], "10 (best held-out)"),
    ],
)
def test_sentences(setting: str, rows: list[tuple], sentence: str) -> None:
    found = selection_sentences([row(setting, *each) for each in rows])
    assert found == [f"{setting.capitalize()}: {sentence}"]


def test_card(model: DDLCNClassifier) -> None:
    described = describe(model) | describe_training(model)
    found = card(described)
    assert found["classes"] == ["2, with their images: a (4), b (4)"]
    assert found["trained"] == [f"{described['created']}, by ddlcn {described['version']}"]
    assert found["channels"][0] == "sift: weight 1, 4 + 4 atoms"
    assert found["selection"] == selection_sentences(model.selection_)
    many = described | {"classes": list(range(25)), "class_counts": None, "test": {"accuracy": 0.5, "n_images": 10}}
    assert card(many)["classes"][0].endswith("18, 19 and 5 more")
    assert card(many)["test"] == ["accuracy 50.0% on 10 held-out images (95% interval 23.7% to 76.3%)"]
