"""Which images train and which test.

A split is an order of each class's images, drawn by (seed, split): the first t train, the others test. So training
sets of growing t are nested. Dictionaries are learnt on images that `fit` draws from the training images; only with the
paper's leak are they drawn from all images (`draw_leaked`).
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


def draw_split(
    images: ImageSet,
    t: PerClass,
    split: int,
    seed: int = 0,
    own_test: np.ndarray | None = None,
    most_test: int | None = None,
) -> Split:
    """Draw the rows of one split.

    Parameters
    ----------
    images : ImageSet
    t : int, float or None
        Training images per class: a number, or a share rounded half up; None if the data set has a test set of its
        own, `own_test`.
    split, seed : int
        What is drawn.
    own_test : array of int, optional
        Rows of the test set that the data set comes with.
    most_test : int, optional
        Test images per class, at most.

    Returns
    -------
    Split

    Raises
    ------
    DDLCNError
        If a class has too few images.

    Examples
    --------
    >>> pets = ImageSet.of([f"{n}.png" for n in range(8)], ["cat", "dog"] * 4)
    >>> train, test = draw_split(pets, t=3, split=0)
    >>> len(train), len(test)
    (6, 2)
    """
    rng, drawable = np.random.default_rng((seed, split, 0)), np.ones(len(images), bool)
    if own_test is not None:
        drawable[own_test] = False
    train, test = [], []
    for name, every in zip(images.target_names, _rows_by_class(images), strict=True):
        order = rng.permutation(every[drawable[every]])
        n = _count(t, len(order))
        if not 0 < n < len(order) + (own_test is not None):
            have = f"class {str(name)!r} has {len(order)} image(s)"
            raise DDLCNError(f"{have}, too few for t={t} to train and 1 to test: choose a smaller t")
        train.append(order[:n])
        test.append(order[n:][:most_test])
    return Split(np.sort(np.concatenate(train)), np.sort(np.concatenate(test)) if own_test is None else own_test)


def draw_leaked(images: ImageSet, p: int | None, split: int, seed: int = 0) -> np.ndarray:
    """Draw dictionary images with the paper's mistake: from all images, those of the test set included.

    Parameters
    ----------
    images : ImageSet
    p : int or None
        Images per class; None is all.
    split, seed : int
        What is drawn.

    Returns
    -------
    array of int
        Rows.
    """
    rng = np.random.default_rng((seed, split, 1))
    return np.sort(np.concatenate([rng.permutation(every)[:p] for every in _rows_by_class(images)]))


def _rows_by_class(images: ImageSet) -> list[np.ndarray]:
    """Rows of each class, in an order that does not depend on the order of files."""
    found = [np.flatnonzero(images.target == c) for c in range(len(images.target_names))]
    if images.paths is None:
        return found
    return [rows[np.argsort(np.array(images.paths)[rows], kind="stable")] for rows in found]


def _count(t: PerClass, available: int) -> int:
    if t is None:
        return available
    return t if isinstance(t, int) else int(t * available + 0.5)
