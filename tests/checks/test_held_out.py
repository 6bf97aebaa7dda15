"""Held-out predictions: every image once, by a model that has not seen it."""

import numpy as np
import pytest

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.checks import HeldOutPredictions, held_out_predictions
from ddlcn.execution.progress import listen

MODEL = DDLCNClassifier("paper", atoms_per_class=4, deeper_atoms=(), C=30.0)


def noise(n: int) -> np.ndarray:
    """Images that have nothing in common, so that only a model that has seen them can know their labels."""
    return np.random.default_rng(0).random((n, 20, 20))


def test_models_have_not_seen_the_image() -> None:
    images, y = noise(40), np.arange(40) % 2
    seen = MODEL.fit(images, y).predict(images) == y
    held = held_out_predictions(MODEL, images, y).probabilities
    assert seen.mean() > 0.95
    assert (held.argmax(axis=1) == y).mean() < 0.75
    np.testing.assert_allclose(held.sum(axis=1), 1)


def test_groups_are_held_out_together() -> None:
    """A model that has seen a copy would know the label."""
    images, y = noise(20).repeat(4, axis=0), np.repeat(np.arange(20) % 2, 4)
    alone, together = (
        held_out_predictions(MODEL, images, y, groups).probabilities.argmax(axis=1) == y
        for groups in (None, np.repeat(np.arange(1, 21), 4))
    )
    assert alone.mean() > 0.85
    assert together.mean() < 0.75


def test_only_image_of_a_class_is_not_judged() -> None:
    found = held_out_predictions(MODEL, noise(9), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2]), n_folds=2)
    assert np.isnan(found.probabilities[8]).all()
    assert np.isnan(found.distances[8])
    assert np.isfinite(found.probabilities[:8]).all()
    assert np.isfinite(found.distances[:8]).all()


def test_fold_that_leaves_one_class_is_not_judged() -> None:
    """A picture has two labels, one of which has no other picture."""
    y, groups = np.array([0] * 10 + [1]), np.array([1] + [0] * 9 + [1])
    found = held_out_predictions(MODEL, noise(11), y, groups).probabilities
    assert np.isnan(found[[0, 10]]).all()
    assert np.isfinite(found[1:10]).any(axis=1).sum() == 8  # one shares the fold


@pytest.mark.parametrize("y", [[0, 1], [0, 0, 1], [0, 0, 0]])
def test_too_few_images(y: list[int]) -> None:
    assert np.isnan(held_out_predictions(MODEL, noise(len(y)), np.array(y)).probabilities).all()


def test_progress() -> None:
    told: list[tuple[str, int, int]] = []
    with listen(lambda *each: told.append(each)):
        held_out_predictions(MODEL, noise(8), np.arange(8) % 2, n_folds=2)
    assert told == [("Held-out", done, 2) for done in range(3)]


def test_probabilities_of_some_rows() -> None:
    """As a model gives them, whose classes are sorted as text."""
    images = ImageSet.of(noise(3), [2, 10, 2])
    found = HeldOutPredictions.of(images, np.array([2, 1]), np.array([[0.3, 0.7], [0.8, 0.2]]), np.array(["10", "2"]))
    np.testing.assert_allclose(found.probabilities, [[np.nan] * 2, [0.2, 0.8], [0.7, 0.3]])


def test_numbers_of_groups_do_not_matter() -> None:
    """Which images are held out together matters, not what their group is called."""
    y, groups = np.arange(24) % 2, np.zeros(24, int)
    groups[[0, 5]], groups[[2, 9]], groups[[4, 11]] = 1, 2, 3
    renamed = np.array([0, 3, 1, 2])[groups]
    one, other = (held_out_predictions(MODEL, noise(24), y, each, n_folds=3) for each in (groups, renamed))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
