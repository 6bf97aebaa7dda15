"""Probabilities from scores: softmax(scale · scores), with the scale that makes held-out rows most likely."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax


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


def calibrate(scores: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Find the scale s for which softmax(s · scores) makes the true classes most likely.

    As in Platt's method, targets are smoothed: one row in n + 2 could be of any class. So the scale stays finite where
    all rows are classified correctly.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Of rows that were held out.
    y : array of int
        Their true classes, as columns of `scores`.

    Returns
    -------
    scale : float
    log_likelihood : array of shape (n_rows,)
        Log-probabilities of the true classes.
    """
    smoothing, rows = 1 / (len(y) + 2), np.arange(len(y))

    def loss(log_scale: float) -> float:
        logs = log_softmax(np.exp(log_scale) * scores, axis=1)
        return -float((1 - smoothing) * logs[rows, y].mean() + smoothing * logs.mean())

    scale = float(np.exp(minimize_scalar(loss, bounds=(-5.0, 8.0), method="bounded").x))
    return scale, log_softmax(scale * scores, axis=1)[rows, y]
