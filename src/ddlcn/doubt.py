"""An image in doubt is looked at again, bent a little.

A model that bent copies have trained knows that a slight bend changes nothing. What it says of an image, and
of bent copies of it, are then answers to one question, and where the first of them is not clear, their mean

    f = (2 f(image) + Σ f(copy)) / (2 + number of copies)

is surer than any. Where a model is good, few images are in doubt, and this costs next to nothing.
"""

from __future__ import annotations

import numpy as np

from ddlcn.copies import KINDS, Change
from ddlcn.layers.svm import both_sides

_CLOSE = 1.0  # the two highest scores, of an image in doubt
# bends that no copy was trained with, and the weights of the image and of each of its copies
_LOOKS = (Change(), *(Change(bend=len(KINDS["bent"]) + n) for n in range(1, 5)))
_WEIGHTS = np.array([2, 1, 1, 1, 1]) / 6


def looks(trained_with: str) -> tuple[tuple[Change, float], ...]:
    """How an image in doubt is looked at by a model that a kind of copies has trained, and weights of that.

    >>> [weight for _, weight in looks("moved")]
    [1.0]
    """
    if trained_with != "bent":
        return ((Change(), 1.0),)
    return tuple(zip(_LOOKS, _WEIGHTS.tolist(), strict=True))


def in_doubt(scores: np.ndarray) -> np.ndarray:
    """The numbers of images whose highest score is hardly above the next.

    >>> in_doubt(np.array([[0.1, -0.5, -1.0], [1.0, -0.5, -1.0]])), in_doubt(np.array([0.3, -1.2]))
    (array([0]), array([0]))
    """
    highest = np.sort(both_sides(scores), axis=1)[:, -2:]
    return np.flatnonzero(highest[:, 1] - highest[:, 0] < _CLOSE)
