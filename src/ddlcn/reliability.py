"""Can probabilities be trusted? Reliability diagram, expected calibration error, risk–coverage curve, thresholds.

All of it is about the predicted class: its probability (the confidence), and whether it is correct. So two classes,
many classes and unbalanced ones are treated alike; what a threshold does to rare classes shows in the balanced
accuracy.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import recall_score

THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_BINS, _PER_BIN = 10, 10  # bins at most, and images per bin at least


class Bin(NamedTuple):
    """Images of similar confidence: how many, their mean confidence, and their accuracy with its 95 % interval."""

    n_images: int
    confidence: float
    accuracy: float
    low: float
    high: float


class Coverage(NamedTuple):
    """Risk, the share of errors, among the `coverage` (a share) of images with the highest confidence."""

    coverage: float
    risk: float


class Threshold(NamedTuple):
    """What is left if only predictions of at least this probability are used; accuracies are None if none is.

    The balanced accuracy is the mean recall of the classes that have images left.
    """

    threshold: float
    n_answered: int
    share_answered: float
    accuracy: float | None
    balanced_accuracy: float | None


def reliability_bins(confidence: np.ndarray, correct: np.ndarray, n_bins: int | None = None) -> list[Bin]:
    """Cut predictions into bins of about equal numbers, by confidence.

    Parameters
    ----------
    confidence : array of shape (n_images,)
        The probability of the predicted class.
    correct : array of bool
    n_bins : int, optional
        At most; equal confidences share a bin. By default 10, but at least 10 images per bin.

    Returns
    -------
    list of Bin
        In order of confidence.

    Examples
    --------
    >>> bins = reliability_bins(np.array([0.6, 0.7, 0.9, 0.9]), np.array([False, True, True, True]), n_bins=2)
    >>> [(each.n_images, round(each.confidence, 2), each.accuracy) for each in bins]
    [(2, 0.65, 0.5), (2, 0.9, 1.0)]
    """
    n_bins = max(1, min(_BINS, len(confidence) // _PER_BIN)) if n_bins is None else n_bins
    edges = np.quantile(confidence, np.arange(1, n_bins) / n_bins)
    numbers = np.searchsorted(edges, confidence)
    bins = []
    for own in (numbers == number for number in np.unique(numbers)):
        right, n = int(correct[own].sum()), int(own.sum())
        low, high = binomtest(right, n).proportion_ci(method="wilson")
        bins.append(Bin(n, float(confidence[own].mean()), right / n, float(low), float(high)))
    return bins


def expected_calibration_error(bins: list[Bin]) -> float:
    """Return the mean difference of confidence and accuracy of bins, weighted by their images.

    Parameters
    ----------
    bins : list of Bin

    Returns
    -------
    float

    Examples
    --------
    >>> expected_calibration_error([Bin(3, 0.75, 0.5, 0.1, 0.9), Bin(1, 1.0, 1.0, 0.2, 1.0)])
    0.1875
    """
    n = sum(each.n_images for each in bins)
    return sum(each.n_images * abs(each.confidence - each.accuracy) for each in bins) / n


def risk_coverage_curve(confidence: np.ndarray, correct: np.ndarray) -> tuple[list[Coverage], float]:
    """Return the risk at each coverage, and the area under this curve: the mean risk over all coverages.

    Parameters
    ----------
    confidence : array of shape (n_images,)
    correct : array of bool

    Returns
    -------
    curve : list of Coverage
        Rising coverage, a point per different confidence.
    area : float
        0 is best. Images of equal confidence are answered together.

    Examples
    --------
    >>> curve, area = risk_coverage_curve(np.array([0.9, 0.8]), np.array([True, False]))
    >>> curve, area
    ([Coverage(coverage=0.5, risk=0.0), Coverage(coverage=1.0, risk=0.5)], 0.25)
    """
    _, numbers, counts = np.unique(-confidence, return_inverse=True, return_counts=True)
    answered = counts.cumsum()
    risk = np.bincount(numbers, ~correct).cumsum() / answered
    curve = [Coverage(*each) for each in zip((answered / len(confidence)).tolist(), risk.tolist(), strict=True)]
    return curve, float(np.average(risk, weights=counts))


def thresholds(probabilities: np.ndarray, truth: np.ndarray, at: tuple[float, ...] = THRESHOLDS) -> list[Threshold]:
    """Return what is answered, and how well, if predictions below a probability are left out.

    Parameters
    ----------
    probabilities : array of shape (n_images, n_classes)
    truth : array of int
        The number of each image's class.
    at : tuple of float

    Returns
    -------
    list of Threshold

    Examples
    --------
    >>> thresholds(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]), (0.0, 0.8))[1].share_answered
    0.5
    """
    confidence, predicted, rows = probabilities.max(axis=1), probabilities.argmax(axis=1), []
    for threshold in at:
        own = confidence >= threshold
        n, accuracy, balanced = int(own.sum()), None, None
        if n:
            accuracy = float((predicted[own] == truth[own]).mean())
            left = np.unique(truth[own])
            balanced = float(recall_score(truth[own], predicted[own], labels=left, average="macro", zero_division=0))
        rows.append(Threshold(threshold, n, n / len(truth), accuracy, balanced))
    return rows


def reliability(probabilities: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return how far probabilities can be trusted, in JSON's types.

    Parameters
    ----------
    probabilities : array of shape (n_images, n_classes)
    truth : array of int
        The number of each image's class.

    Returns
    -------
    dict
        `expected_calibration_error`, `mean_confidence`, `bins` (see `Bin`), `area_under_risk_coverage`,
        `thresholds` (see `Threshold`).

    Examples
    --------
    >>> found = reliability(np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 0]))
    >>> found["expected_calibration_error"], found["mean_confidence"], found["area_under_risk_coverage"]
    (0.25, 1.0, 0.25)
    """
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = reliability_bins(confidence, correct)
    return {
        "expected_calibration_error": expected_calibration_error(bins),
        "mean_confidence": float(confidence.mean()),
        "bins": [each._asdict() for each in bins],
        "area_under_risk_coverage": risk_coverage_curve(confidence, correct)[1],
        "thresholds": [each._asdict() for each in thresholds(probabilities, truth)],
    }
