"""The scale of scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
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
    scale, found = calibrate(scores, y)
    assert_allclose(found, log_softmax(scale * scores, axis=1)[np.arange(5000), y])
    for other in (0.9 * scale, 1.1 * scale):
        assert log_softmax(other * scores, axis=1)[np.arange(5000), y].mean() < found.mean()
    assert_allclose(calibrate(2 * scores, y)[0], scale / 2, rtol=1e-3)


def test_no_certainty_without_errors():
    for n in (3, 300):
        scale, found = calibrate(np.tile([[1.0, -1.0]], (n, 1)), np.zeros(n, int))
        assert 0.1 / n < 1 - np.exp(found).mean() < 1 / n
        assert np.isfinite(scale)


def test_score_per_class():
    assert score_per_class(np.array([2.0, -4.0])).tolist() == [[-1, 1], [2, -2]]
    assert score_per_class(np.array([[2.0], [-4.0]])).tolist() == [[-1, 1], [2, -2]]
    assert score_per_class(three := np.ones((2, 3))) is three
