"""Findings in a collection with one of each kind of mistake."""

import json

import numpy as np
import pytest

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.checks import DataCheck, HeldOutPredictions, check_images, examine, image_facts

MODEL = DDLCNClassifier("paper", atoms_per_class=3, deeper_atoms=(), C=10.0)


def stripes(angle: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng([int(100 * angle), seed])
    y, x = np.mgrid[:24, :24]
    wave = np.sin((x * np.cos(angle) + y * np.sin(angle)) / 1.5 + seed)
    return (127 + 90 * wave + rng.normal(0, 10, x.shape)).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def planted() -> ImageSet:
    """Image 3 has a wrong label, 30 to 32 are copies of others, 33 is blank, and class c has one image."""
    images = [stripes(1.5 * (i // 15), i) for i in range(30)]
    labels = ["a"] * 15 + ["b"] * 15
    labels[3] = "b"
    images += [images[0], images[1], images[20], np.full((24, 24), 200, np.uint8), stripes(0.8, 0)]
    labels += ["a", "b", "b", "a", "c"]
    return ImageSet.of(np.array(images), labels, "planted")


@pytest.fixture(scope="module")
def check(planted: ImageSet) -> DataCheck:
    return check_images(planted, MODEL, n_folds=3)


def test_findings(check: DataCheck) -> None:
    assert check.first("mislabelled")[0] == 3
    assert check.first("blank").tolist() == [33]
    assert check.flags["duplicate"].nonzero()[0].tolist() == [0, 1, 20, 30, 31, 32]
    rows = check.rows()
    assert (rows[3]["label"], rows[3]["suggested_label"]) == ("b", "a")
    assert rows[34]["mislabelled_score"] is None  # the only image of its class
    assert rows[4]["path"] == "planted[4]"
    assert rows[4]["suggested_label"] is None


def test_names_follow_the_rule(check: DataCheck) -> None:
    columns = list(check.rows()[0])
    scores = {name.removesuffix("_score") for name in columns if name.endswith("_score")}
    assert scores == {name.removeprefix("is_") for name in columns if name.startswith("is_")} == set(check.scores)


def test_different_labels_come_first(check: DataCheck) -> None:
    groups = check.groups()
    assert [group["labels_differ"] for group in groups] == [True, False, False]
    assert groups[0]["paths"] == ["planted[1]", "planted[31]"]
    assert [group["group"] for group in groups] == [1, 2, 3]
    assert check.rows()[31]["duplicate_group"] == 1


def test_classes(check: DataCheck) -> None:
    found = {each["label"]: (each["n_images"], each["is_unbalanced"]) for each in check.classes()}
    assert found == {"a": (16, False), "b": (18, False), "c": (1, True)}


def test_json(check: DataCheck) -> None:
    found = check.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["n_found"]["blank"] == found["n_found"]["unbalanced"] == 1
    assert len(found["images"]) < found["n_images"] == 35
    assert all(any(value is True for value in row.values()) for row in found["images"])
    assert 0.5 < found["held_out_accuracy"] < 1


def test_order_of_images_does_not_matter(planted: ImageSet, check: DataCheck) -> None:
    order = np.random.default_rng(0).permutation(len(planted))
    other = check_images(planted.take(order), MODEL, n_folds=3)
    for name, score in check.scores.items():
        np.testing.assert_allclose(other.scores[name], score[order], atol=1e-6)


def test_without_predictions(planted: ImageSet) -> None:
    """As in the report of a training, which trains no second model."""
    check = examine(planted, image_facts(planted.images))
    assert check.held_out_accuracy is None
    assert not check.flags["mislabelled"].any()
    assert check.rows()[3]["unusual_score"] is None
    assert check.flags["duplicate"].sum() == 6


def test_predictions_of_a_model(planted: ImageSet) -> None:
    probabilities = 0.2 + 0.4 * np.eye(3)[planted.target]
    probabilities[5] = [0.05, 0.05, 0.9]
    held_out = HeldOutPredictions.of(planted, np.arange(20), probabilities[:20], np.array(["a", "b", "c"]))
    check = examine(planted, image_facts(planted.images), held_out)
    assert np.isnan(check.scores["mislabelled"][20:]).all()
    assert check.scores["mislabelled"][:20].argmax() == 5


def test_grey_by_class() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (8, 12, 12, 3)).astype(np.uint8)
    images[:4] = images[:4, ..., :1]
    check = examine(ImageSet.of(images, ["grey"] * 4 + ["colour"] * 4), image_facts(images))
    assert check.is_grey_by_class
    assert {each["label"]: each["color_share"] for each in check.classes()} == {"grey": 0, "colour": 1}
    mixed = examine(ImageSet.of(images, ["a", "b"] * 4), image_facts(images))
    assert not mixed.is_grey_by_class
