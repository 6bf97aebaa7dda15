"""The learning curve: accuracy over images per class, from a new model for each size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import evaluate
from ddlcn.images import ImageSet
from ddlcn.progress import listen, track


class Point(NamedTuple):
    """Accuracy, with its 95 % interval, after so many images of each class."""

    images_per_class: int
    accuracy: float
    low: float
    high: float


def learning_curve(
    model: DDLCNClassifier, train: ImageSet, test: ImageSet, sizes: list[int] | None = None
) -> list[Point]:
    """Train on n images of each class, n doubling from 2 to all and each part holding the last, and test."""
    counts, rng = np.bincount(train.target), np.random.default_rng(0)
    ranks = np.empty(len(train), np.intp)
    for code, count in enumerate(counts):
        ranks[train.target == code] = rng.permutation(count)
    if sizes is None:
        largest = int(counts.max())
        sizes = sorted({*(2**i for i in range(1, largest.bit_length()) if 2**i < largest), largest})
    points = []
    for n in track("Learning curve", sizes, total=len(sizes)):
        part = train.take(np.flatnonzero(ranks < n))
        with listen(lambda *_: None):  # the stages of each model would drown the curve's own
            tested = evaluate(clone(model).fit(part.images, part.labels), test.images, test.labels)
        points.append(Point(n, tested.accuracy, *tested.interval))
    return points
