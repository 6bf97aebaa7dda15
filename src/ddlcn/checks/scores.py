"""Scores of findings: arrays in, arrays out.

Each finding X has an `X_score` in [0, 1], high if the finding is likely, and NaN for what could not be judged.
"""

import numpy as np

_LOW_CONTRAST = 0.01  # at which the score is 0.5


def mislabelled_score(probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return one minus the probability of the label.

    The difference to the best other class would rank worse where a model is unsure: a label with 0.01 is more
    suspicious if the best class has 0.30 than one with 0.20 if it has 0.60.

    Parameters
    ----------
    probabilities : array of shape (n_images, n_classes)
        By a model that did not see the image; a row of NaN if there is none.
    y : array of int
        The class that each image is labelled as.

    Returns
    -------
    array of shape (n_images,)

    Examples
    --------
    >>> mislabelled_score(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0, 0])).round(2).tolist()
    [0.1, 0.9]
    """
    return 1 - probabilities[np.arange(len(y)), y]


def is_mislabelled(probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether another class is more likely than the label, and as likely as it is for its own images on average.

    The second condition, of confident learning (Northcutt, Jiang and Chuang 2021), keeps hard problems, where many
    images are classified wrongly, from having as many findings.

    Parameters
    ----------
    probabilities, y : as in `mislabelled_score`

    Returns
    -------
    array of bool
    """
    judged = ~np.isnan(probabilities).any(axis=1)
    usual = np.array([_mean(probabilities[judged & (y == c), c]) for c in range(probabilities.shape[1])])
    found, best = np.zeros(len(y), bool), probabilities[judged].argmax(axis=1)
    found[judged] = (best != y[judged]) & (probabilities[judged].max(axis=1) >= usual[best])
    return found


def unusual_score(distances: np.ndarray) -> np.ndarray:
    """Return how unlike the other images an image is: d / (d + 1), for its distance d.

    Parameters
    ----------
    distances : array of shape (n_images,)
        From the other images, by what is usual: up to 1 is usual.

    Returns
    -------
    array of shape (n_images,)

    Examples
    --------
    >>> unusual_score(np.array([0.0, 1.0, 3.0])).tolist()
    [0.0, 0.5, 0.75]
    """
    return distances / (distances + 1)


def blank_score(contrasts: np.ndarray) -> np.ndarray:
    """Return 1 for a uniform image, 0.5 at a contrast (standard deviation) of 0.01 of full scale.

    Parameters
    ----------
    contrasts : array of shape (n_images,)

    Returns
    -------
    array of shape (n_images,)

    Examples
    --------
    >>> blank_score(np.array([0.0, 0.01, 0.19])).round(2).tolist()
    [1.0, 0.5, 0.05]
    """
    return _LOW_CONTRAST / (_LOW_CONTRAST + contrasts)


def unbalanced_score(counts: np.ndarray) -> np.ndarray:
    """Return 1 − images of a class / images of the largest class.

    Parameters
    ----------
    counts : array of shape (n_classes,)

    Returns
    -------
    array of shape (n_classes,)

    Examples
    --------
    >>> unbalanced_score(np.array([100, 50, 5])).tolist()
    [0.0, 0.5, 0.95]
    """
    return 1 - counts / counts.max()


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.inf
