"""Calibration of probabilities, of balanced and unbalanced problems of two and more classes."""

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score

from ddlcn.reliability import (
    expected_calibration_error,
    reliability,
    reliability_bins,
    risk_coverage_curve,
    thresholds,
)


def problem(prior: list[float], n: int = 4000, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are calibrated at temperature 1, too extreme below it; and classes drawn by the prior."""
    rng = np.random.default_rng(0)
    truth = rng.choice(len(prior), n, p=prior)
    x = rng.normal(2 * np.eye(len(prior))[truth], 1)
    scores = 2 * x + np.log(prior)  # the posterior of these Gaussians
    odds = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    return odds / odds.sum(axis=1, keepdims=True), truth


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.95, 0.05], [0.25] * 4, [0.9, 0.08, 0.01, 0.01]])
def test_error_is_small_if_calibrated(prior: list[float]) -> None:
    calibrated = reliability(*problem(prior))
    extreme = reliability(*problem(prior, temperature=0.2))
    assert calibrated["expected_calibration_error"] < 0.015
    assert extreme["expected_calibration_error"] > 2 * calibrated["expected_calibration_error"]
    assert extreme["mean_confidence"] > calibrated["mean_confidence"]
    assert json.loads(json.dumps(calibrated, allow_nan=False)) == calibrated


def test_bins_are_scikit_learns() -> None:
    probabilities, truth = problem([0.4, 0.3, 0.3])
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = reliability_bins(confidence, correct)
    accuracy, mean = calibration_curve(correct, confidence, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([each.accuracy for each in bins], accuracy)
    np.testing.assert_allclose([each.confidence for each in bins], mean)
    assert {each.n_images for each in bins} == {400}
    assert all(each.low < each.accuracy <= each.high for each in bins)


def test_few_images_have_few_bins() -> None:
    confidence = np.linspace(0.5, 1, 24)
    assert [each.n_images for each in reliability_bins(confidence, confidence > 0.7)] == [12, 12]
    assert len(reliability_bins(confidence[:1], np.array([True]))) == 1


def test_equal_confidences_share_a_bin() -> None:
    bins = reliability_bins(np.ones(200), np.arange(200) < 150)
    assert [(each.n_images, each.accuracy) for each in bins] == [(200, 0.75)]
    assert expected_calibration_error(bins) == 0.25


def test_risk_coverage() -> None:
    confidence = np.array([0.9, 0.7, 0.8, 0.6, 0.6])
    correct = np.array([True, False, True, True, False])
    curve, area = risk_coverage_curve(confidence, correct)
    np.testing.assert_allclose(curve, [(0.2, 0), (0.4, 0), (0.6, 1 / 3), (1, 2 / 5)])
    assert area == pytest.approx((0 + 0 + 1 / 3 + 2 * 2 / 5) / 5)
    assert risk_coverage_curve(np.ones(4), np.array([True] * 3 + [False]))[1] == 0.25  # no order: the error rate


def test_better_order_has_a_smaller_area() -> None:
    confidence = np.linspace(1, 0.5, 10)
    early, late = np.arange(10) >= 3, np.arange(10) < 7
    assert risk_coverage_curve(confidence, late)[1] < risk_coverage_curve(confidence, early)[1]


def test_thresholds_of_an_unbalanced_problem() -> None:
    probabilities, truth = problem([0.97, 0.03])
    rows = thresholds(probabilities, truth)
    assert rows[0].share_answered == 1
    assert rows[0].balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, probabilities.argmax(axis=1)))
    assert rows[0].accuracy > 0.95 > 0.9 > rows[0].balanced_accuracy  # what the accuracy alone hides
    assert [each.n_answered for each in rows] == sorted((each.n_answered for each in rows), reverse=True)
    assert rows[-1].accuracy > rows[0].accuracy


def test_threshold_that_nothing_reaches() -> None:
    row = thresholds(np.full((5, 4), 0.25), np.zeros(5, int), (0.5,))[0]
    assert (row.n_answered, row.share_answered, row.accuracy, row.balanced_accuracy) == (0, 0, None, None)
