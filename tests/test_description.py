"""A fitted model as a dict and in plain words."""

import json

import numpy as np
import pytest

from ddlcn import DDLCNClassifier
from ddlcn.description import describe, selection_sentences, settings


def row(setting: str, candidate, gain=None, error=None, chosen=False, reason="default") -> dict:
    return {
        "setting": setting,
        "candidate": candidate,
        "mean_gain": gain,
        "standard_error": error,
        "chosen": chosen,
        "reason": reason,
    }


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


def test_same_description_after_loading(model: DDLCNClassifier, tmp_path) -> None:
    model.save(tmp_path / "m")
    loaded = describe(DDLCNClassifier.load(tmp_path / "m"))
    assert loaded == json.loads(json.dumps(describe(model)))


def test_settings(model: DDLCNClassifier) -> None:
    found = settings(describe(model))
    assert found.items() >= {"deskew": "no", "sift.weight": "1", "sift.atoms": "4 + 4", "sift.power": "0.5"}.items()
    assert found["sift.coder"] == "LocalityCoder(beta=0.05, n_neighbors=30)"
    assert found["augmentation"] == model.augmentation_


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row("deskew", None, chosen=True, reason="given")], "Deskew: no (given)"),
        ([row("deskew", [0.2, 0.1], chosen=True, reason="given")], "Deskew: yes (given)"),
        (
            [row("deskew", False, 0.0, 0.0), row("deskew", True, 0.1, 0.02, True)],
            "Deskew: yes (gain 0.100 ± 0.020 in held-out log-likelihood over the default no)",
        ),
        (
            [row("augmentation", "none", 0.0, 0.0, True), row("augmentation", "flip", 0.01, 0.02)],
            "Augmentation: none (the default; flip gained no more than one standard error)",
        ),
        (
            [row("weight of x", 1.0, 0, 0), row("weight of x", 0.0, 0.2, 0.1), row("weight of x", 0.5, 0.3, 0.1, True)],
            "Weight of x: 0.5 (gain 0.300 ± 0.100 in held-out log-likelihood over 0)",
        ),
        (
            [row("C", 1.0, -0.1), row("C", 10.0, 0.0, chosen=True, reason="best held-out log-likelihood")],
            "C: 10 (best held-out log-likelihood)",
        ),
    ],
)
def test_sentences(rows: list[dict], sentence: str) -> None:
    assert selection_sentences(rows) == [sentence]


def test_one_sentence_per_setting(model: DDLCNClassifier) -> None:
    sentences = selection_sentences(model.selection_)
    assert [sentence.split(":")[0] for sentence in sentences] == ["Deskew", "Weight of sift_grid", "Augmentation", "C"]
