"""Probabilities from scores: softmax(scale · (scores + offsets)), which make held-out rows most likely.

One-vs-rest SVMs favour large classes: one that has learnt nothing gives each row the mean of the targets ±1, which is
2p − 1 for a class with a share p of the rows. Offsets take back a part of that, from none to all. So they have one
parameter for all classes, which few rows can teach, and classes of one size have none.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

_SMALLEST_SCALE, _LARGEST_SCALE = 0.007, 3000.0


class Calibration(NamedTuple):
    """Probabilities are softmax(scale · (scores + offsets))."""

    scale: float
    offsets: np.ndarray  # one for each class; their sum is zero
    log_likelihood: np.ndarray  # of the true class of each row, times the weight of the row


def score_per_class(scores: np.ndarray) -> np.ndarray:
    """Scores with one column for each class.

    Two classes have one score, the distance from their common boundary: each gets half of it, with its sign.

    >>> score_per_class(np.array([3.0, -1.0])).tolist()
    [[-1.5, 1.5], [0.5, -0.5]]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    half = scores.reshape(-1, 1) / 2
    return np.hstack([-half, half])


def calibrate(
    scores: np.ndarray, y: np.ndarray, sizes: np.ndarray | None = None, weights: np.ndarray | None = None
) -> Calibration:
    """Find the scale and the offsets that make the true classes most likely.

    As in Platt's method, targets are smoothed: one row in n + 2 could be of any class. So the scale stays finite where
    all rows are classified correctly.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Of rows that were held out.
    y : array of int
        Their true classes, as columns of `scores`.
    sizes : array of shape (n_classes,), optional
        Training rows of each class; classes of one size if not given.
    weights : array of shape (n_rows,), optional
        How much each row counts, 1 on average; all alike if not given.

    Returns
    -------
    Calibration
    """
    rows, n_classes = np.arange(len(y)), scores.shape[1]
    weights = np.ones(len(y)) if weights is None else weights
    sizes = np.ones(n_classes) if sizes is None else sizes
    bias = (2 if n_classes > 2 else 1) * (sizes / sizes.sum() - 1 / n_classes)  # two classes have half of a score each
    targets = np.full(scores.shape, 1 / (len(y) + 2) / n_classes)
    targets[rows, y] += 1 - 1 / (len(y) + 2)

    features = np.stack([scores, scores - bias])  # logits u · scores + v · (scores − bias): the loss is convex in u, v

    def loss(factors: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(np.tensordot(factors, features, 1), axis=1)
        slopes = weights[:, None] * (np.exp(logs) - targets) / len(y)
        return -float(weights @ (targets * logs).sum(axis=1)) / len(y), np.tensordot(features, slopes, 2)

    limits = [(_SMALLEST_SCALE, _LARGEST_SCALE), (0.0, _LARGEST_SCALE)]
    options: Any = {"ftol": 1e-12, "gtol": 1e-8}
    u, v = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=limits, options=options).x
    scale, offsets = float(u + v), -v / (u + v) * bias
    return Calibration(scale, offsets, weights * log_softmax(scale * (scores + offsets), axis=1)[rows, y])
