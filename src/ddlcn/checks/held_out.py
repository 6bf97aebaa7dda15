"""Held-out predictions of all images, by cross-validation: no image is judged by a model that has seen it."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ddlcn.classifier import DDLCNClassifier
from ddlcn.conformal import image_facts
from ddlcn.execution.progress import listen, track
from ddlcn.images import ImageSet, take
from ddlcn.linear.validation import folds

N_FOLDS = 5


class HeldOutPredictions(NamedTuple):
    """What models that did not see an image say of it.

    NaN if the other images have fewer than two classes, or none of its class.

    `probabilities` has a column per class. `distances` are from other images, by what is usual (see
    `Conformal.distances`).
    """

    probabilities: np.ndarray
    distances: np.ndarray

    @classmethod
    def of(
        cls, images: ImageSet, rows: np.ndarray, probabilities: np.ndarray, classes: np.ndarray
    ) -> "HeldOutPredictions":
        """Return probabilities that are known of some rows of `images`, with a column per label in `classes`."""
        numbers = {name: number for number, name in enumerate(images.target_names.tolist())}
        found = np.full((len(images), len(numbers)), np.nan)
        found[rows] = 0
        found[np.ix_(rows, np.array([numbers[str(label)] for label in classes]))] = probabilities
        return cls(found, np.full(len(images), np.nan))


def held_out_predictions(
    model: DDLCNClassifier, images: Any, y: np.ndarray, groups: np.ndarray | None = None, n_folds: int = N_FOLDS
) -> HeldOutPredictions:
    """Predict each image by a model that was trained without it.

    Parameters
    ----------
    model : DDLCNClassifier
        Models with its parameters are trained, one per fold.
    images : sequence of paths or arrays
    y : array of int
        Classes, from 0.
    groups : array of int, optional
        Images of one group, such as duplicates, are held out together; 0 is no group.
    n_folds : int
        At most; no more than the largest class has images.

    Returns
    -------
    HeldOutPredictions
        All NaN if fewer than two classes have two images.
    """
    n_classes, fold = int(y.max()) + 1, _folds_of(y, groups, n_folds, model.random_state)
    probabilities, distances = np.full((len(y), n_classes), np.nan), np.full(len(y), np.nan)
    if len(np.unique(y[fold >= 0])) < 2:
        return HeldOutPredictions(probabilities, distances)
    n_folds = int(fold.max()) + 1
    for number in track("Held-out", range(n_folds), total=n_folds):
        with listen(lambda *_: None):  # the folds have a progress bar of their own
            train, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            held = held[np.isin(y[held], y[train])]  # of a class that is there without them
            if len(np.unique(y[train])) < 2:
                continue
            fitted = clone(model).fit(take(images, train), y[train])
            rows, calibration = fitted.transform(take(images, held)), fitted.calibration_
            probabilities[held] = 0
            probabilities[np.ix_(held, fitted.classes_)] = fitted.svm_.probabilities(fitted.svm_.scores(rows))
            if calibration:
                facts = image_facts(fitted.encoder_, rows, fitted.svm_.scores(rows))
                distances[held] = calibration.distances(facts)
    return HeldOutPredictions(probabilities, distances)


def _folds_of(y: np.ndarray, groups: np.ndarray | None, n_folds: int, seed: Any) -> np.ndarray:
    """The fold of each image, −1 if it always trains; groups stay together."""
    alone = np.arange(len(y))
    if groups is not None:
        alone = np.where(groups > 0, len(y) + groups, alone)
    _, first, inverse = np.unique(alone, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # groups in the order of images, whatever their numbers
    return folds(y[np.sort(first)], seed if isinstance(seed, int) else 0, n_folds)[rank[inverse]]
