"""Which images train, which test, and which the dictionaries see.

A split is an order of each class's images, drawn by (seed, split). The first t train, the rest test, and the
first p of those that train are for the dictionary. So training sets of growing t are nested, dictionaries
see training images only, and features depend on p and q alone: another t costs no more than an SVM.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.images import ImageSet

PerClass = int | float | None  # a number of images, a share of them, or None: all that a data set trains on


class Split(NamedTuple):
    """Rows of a data set."""

    train: np.ndarray
    test: np.ndarray
    dictionary: np.ndarray


def draw_split(
    images: ImageSet,
    t: PerClass,
    p: int | None,
    split: int,
    seed: int = 0,
    own_test: np.ndarray | None = None,
    leak: bool = False,
) -> Split:
    """The rows of one split.

    Parameters
    ----------
    t : int, float or None
        Training images of each class: a number, or a share rounded half up; None if the data set has a test
        set of its own, `own_test`.
    p : int or None
        Dictionary images of each class, of which there are never more than t; None is all ("A").
    leak : bool
        The paper's mistake: draw the dictionary images from all images, those of the test set included.

    Examples
    --------
    >>> pets = ImageSet.of([f"{n}.png" for n in range(8)], ["cat", "dog"] * 4)
    >>> train, test, dictionary = draw_split(pets, t=3, p=2, split=0)
    >>> len(train), len(test), len(dictionary), set(dictionary) <= set(train)
    (6, 2, 4, True)
    """
    rng, leaky = np.random.default_rng((seed, split, 0)), np.random.default_rng((seed, split, 1))
    ours = np.ones(len(images), bool)
    if own_test is not None:
        ours[own_test] = False
    train, dictionary = [], []
    for code, name in enumerate(images.target_names):
        every = np.flatnonzero(images.target == code)
        if images.paths:  # the same files whatever order they are listed in
            every = every[np.argsort(np.array(images.paths)[every], kind="stable")]
        order = rng.permutation(every[ours[every]])
        n = _count(t, len(order))
        if not 0 < n < len(order) + (own_test is not None):
            have = f"class {str(name)!r} has {len(order)} image(s)"
            raise DDLCNError(f"{have}, too few for t={t} to train and 1 to test: choose a smaller t")
        train.append(order[:n])
        dictionary.append((leaky.permutation(every) if leak else order[:n])[:p])
    rows = np.sort(np.concatenate(train))
    test = np.setdiff1d(np.arange(len(images)), rows) if own_test is None else own_test
    return Split(rows, test, np.sort(np.concatenate(dictionary)))


def _count(t: PerClass, available: int) -> int:
    if t is None:
        return available
    return t if isinstance(t, int) else int(t * available + 0.5)
