"""The learning curve: accuracy over images per class, from a new model for each size."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import evaluate
from ddlcn.execution.progress import listen, track
from ddlcn.images import ImageSet


class Point(NamedTuple):
    """Accuracy, with its 95 % interval, of a model trained on so many images per class."""

    images_per_class: int
    accuracy: float
    low: float
    high: float


def learning_curve(
    model: DDLCNClassifier, train: ImageSet, test: ImageSet, sizes: list[int] | None = None
) -> list[Point]:
    """Train models on more and more images per class, each part holding the one before, and test them.

    Parameters
    ----------
    model : DDLCNClassifier
        Models with its parameters are trained.
    train, test : ImageSet
    sizes : list of int, optional
        Images per class; by default 2, 4, 8, … and all.

    Returns
    -------
    list of Point
    """
    counts, rng = np.bincount(train.target), np.random.default_rng(0)
    ranks = np.empty(len(train), np.intp)
    for number, count in enumerate(counts):
        ranks[train.target == number] = rng.permutation(count)
    if sizes is None:
        largest = int(counts.max())
        sizes = sorted({*(2**i for i in range(1, largest.bit_length()) if 2**i < largest), largest})
    points = []
    for n in track("Learning curve", sizes, total=len(sizes)):
        part = train.take(np.flatnonzero(ranks < n))
        with listen(lambda *_: None):  # the curve has a progress bar of its own
            tested = evaluate(clone(model).fit(part.images, part.labels), test.images, test.labels)
        points.append(Point(n, tested.accuracy, *tested.interval))
    return points
