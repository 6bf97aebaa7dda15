"""The scale of scores, and offsets by the sizes of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from ddlcn.linear.calibration import calibrate, score_per_class


@pytest.mark.parametrize("truth", [0.3, 1.0, 20.0])
def test_scale_is_found(truth):
    """Labels drawn from softmax(truth · scores)."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 4))
    y = (rng.uniform(size=(20_000, 1)) > np.cumsum(softmax(truth * scores, axis=1), axis=1)).sum(axis=1)
    assert_allclose(calibrate(scores, y)[0], truth, rtol=0.05)


def test_no_other_scale_is_likelier():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(5000, 3)), rng.integers(3, size=5000)
    scores[np.arange(5000), y] += 1
    scale, offsets, found = calibrate(scores, y)
    assert_array_equal(offsets, 0)
    assert_allclose(found, log_softmax(scale * scores, axis=1)[np.arange(5000), y])
    for other in (0.9 * scale, 1.1 * scale):
        assert log_softmax(other * scores, axis=1)[np.arange(5000), y].mean() < found.mean()
    assert_allclose(calibrate(2 * scores, y)[0], scale / 2, rtol=1e-3)


@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("sizes", [(9, 1), (5, 3, 1, 1)])
def test_part_of_the_bias_is_found(sizes, part):
    """Labels drawn from softmax(3 · (scores − part · bias)): an SVM's mean target is 2p − 1, or of two ±(p − ½)."""
    rng, sizes = np.random.default_rng(0), np.array(sizes)
    bias = sizes / sizes.sum() * (1 if len(sizes) == 2 else 2)
    scores = rng.normal(size=(40_000, len(sizes)))
    probabilities = softmax(3 * (scores - part * bias), axis=1)
    y = (rng.uniform(size=(40_000, 1)) > np.cumsum(probabilities, axis=1)).sum(axis=1)
    scale, offsets, _ = calibrate(scores, y, sizes)
    assert_allclose(scale, 3, rtol=0.05)
    assert_allclose(offsets, part * (bias.mean() - bias), atol=0.05)


@pytest.mark.parametrize("balanced", [False, True])
def test_boundary_of_two_normal_classes(balanced):
    """Scores N(−1.2, ½²) and N(−0.2, ½²): if both classes count alike, the boundary is midway; 8 : 2, higher."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [32_000, 8000])
    f = rng.normal(np.array([-1.2, -0.2])[y], 0.5)
    weights = np.array([1.0, 4.0])[y] / 1.6 if balanced else None
    _, offsets, _ = calibrate(score_per_class(f), y, np.array([90, 10]), weights)
    assert_allclose(offsets[0] - offsets[1], -0.7 + (0 if balanced else np.log(4) / 4), atol=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_optimum_where_scores_are_little_more_than_the_bias(seed):
    """No scale and part of a grid are likelier, though the scale is far from where the search starts."""
    rng, sizes = np.random.default_rng(seed), np.array([60, 6, 6, 6, 6])
    bias = 2 * (sizes / sizes.sum() - 1 / 5)
    y = rng.permutation(np.repeat(np.arange(5), sizes))
    scores = bias + rng.normal(0, 0.02, (84, 5))
    scores[np.arange(84), y] += 0.03
    found = calibrate(scores, y, sizes)
    targets = np.full(scores.shape, 1 / 86 / 5)
    targets[np.arange(84), y] += 1 - 1 / 86

    def loss(scale, offsets):
        return -(targets * log_softmax(scale * (scores + offsets), axis=1)).sum() / 84

    best = min(loss(s, -part * bias) for s in np.geomspace(0.01, 2000, 60) for part in np.linspace(0, 1, 41))
    assert loss(found.scale, found.offsets) < best + 1e-6


def test_sizes_bound_the_offsets():
    """Where sizes are nearly the same, no held-out row moves a boundary much."""
    scores, y = np.array([[1.0, -1.0], [0.9, -0.9], [0.8, -0.8]]), np.array([0, 0, 1])
    assert np.abs(calibrate(scores, y, np.array([21, 20])).offsets).max() < 0.5 / 41 + 1e-9
    assert_array_equal(calibrate(scores, y, np.array([20, 20])).offsets, 0)


def test_no_certainty_without_errors():
    for n in (3, 300):
        scale, _, found = calibrate(np.tile([[1.0, -1.0]], (n, 1)), np.zeros(n, int))
        assert 0.1 / n < 1 - np.exp(found).mean() < 1 / n
        assert np.isfinite(scale)


def test_score_per_class():
    assert score_per_class(np.array([2.0, -4.0])).tolist() == [[-1, 1], [2, -2]]
    assert score_per_class(np.array([[2.0], [-4.0]])).tolist() == [[-1, 1], [2, -2]]
    assert score_per_class(three := np.ones((2, 3))) is three
