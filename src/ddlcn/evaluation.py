"""How good a model is on labelled images: accuracy with its interval, recall of classes, confusions."""

import warnings
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, recall_score
from sklearn.model_selection import StratifiedKFold

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError, listed
from ddlcn.execution.progress import listen, track
from ddlcn.images import as_images, take
from ddlcn.intervals import wilson_interval


class Confusion(NamedTuple):
    """`times` images of class `truth` were classified as `predicted`."""

    truth: Any
    predicted: Any
    times: int


class Rejection(NamedTuple):
    """How many images were rejected as unlike the training images, at a share of false alarms."""

    false_alarms: float
    n_unknown: int  # images that belong to no class
    n_unknown_rejected: int
    n_known: int
    n_known_rejected: int  # false alarms


@dataclass(frozen=True)
class Evaluation:
    """Predictions for labelled images, and their true classes.

    Parameters
    ----------
    classes : array
        The labels that the model knows.
    truth : array of shape (n_images,)
        The number of each image's class.
    probabilities : array of shape (n_images, n_classes)
    seconds : float
        What the predictions took.
    rejection : Rejection, optional
        If images of no class were tested too.

    Examples
    --------
    >>> result = Evaluation(np.array(["a", "b"]), np.array([0, 0, 1, 1]), np.eye(2)[[0, 0, 1, 0]], 0.1)
    >>> result.accuracy, result.most_confused()
    (0.75, [Confusion(truth='b', predicted='a', times=1)])
    """

    classes: np.ndarray
    truth: np.ndarray
    probabilities: np.ndarray
    seconds: float
    rejection: Rejection | None = field(default=None, kw_only=True)

    @property
    def predicted(self) -> np.ndarray:
        """The number of the most likely class of each image."""
        return self.probabilities.argmax(axis=1)

    @property
    def accuracy(self) -> float:
        """Share of images that were classified correctly."""
        return float((self.predicted == self.truth).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the accuracy (Wilson)."""
        return wilson_interval(self.accuracy, len(self.truth))

    @property
    def confusion(self) -> np.ndarray:
        """Numbers of images, a row per true class and a column per predicted class."""
        return confusion_matrix(self.truth, self.predicted, labels=np.arange(len(self.classes)))

    @property
    def recall(self) -> np.ndarray:
        """Share of each class's images that were classified correctly; NaN for a class without images."""
        labels = np.arange(len(self.classes))
        return recall_score(self.truth, self.predicted, labels=labels, average=None, zero_division=np.nan)

    def most_confused(self, n: int = 5) -> list[Confusion]:
        """Return the most frequent mistakes.

        Parameters
        ----------
        n : int

        Returns
        -------
        list of Confusion
            At most n, the most frequent first.
        """
        counts = self.confusion
        np.fill_diagonal(counts, 0)
        order = np.argsort(-counts, axis=None, kind="stable")[:n]
        names, pairs = self.classes.tolist(), (np.unravel_index(i, counts.shape) for i in order)
        return [Confusion(names[t], names[p], int(counts[t, p])) for t, p in pairs if counts[t, p]]


def evaluate(
    model: DDLCNClassifier, images: Any, labels: np.ndarray, unknown: Any = (), false_alarms: float = 0.05
) -> Evaluation:
    """Classify labelled images.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    images : sequence of paths or arrays
    labels : array
        A class of the model for each image; the text "7" is the number 7.
    unknown : sequence of paths or arrays
        Images that belong to no class. They do not count for accuracy; the result says how many are rejected.
    false_alarms : float
        Share of `images` that may be rejected, if there are unknown ones.

    Returns
    -------
    Evaluation

    Raises
    ------
    DDLCNError
        If a label is not a class of the model; if the model has no calibration for unknown images, or one on too few
        images for this share.
    """
    numbers = {str(name): number for number, name in enumerate(model.classes_)}
    if others := sorted(set(map(str, labels)) - set(numbers)):
        which = f"{listed(map(repr, others), 5)} {'are no classes' if len(others) > 1 else 'is not a class'}"
        what = f"{which} of this model, which was trained on {listed(numbers, 5)}"
        raise DDLCNError(f"{what}: remove these images, or extend the model")
    truth = np.array([numbers[str(label)] for label in labels])
    if len(unknown):
        model.check_calibration(false_alarms=false_alarms)
    start, n = perf_counter(), len(truth)
    found, rejection = model.assess([*images, *unknown] if len(unknown) else images), None
    seconds = (perf_counter() - start) * n / (n + len(unknown))
    if len(unknown):
        rejected = found.unknown(false_alarms)
        rejection = Rejection(false_alarms, len(unknown), int(rejected[n:].sum()), n, int(rejected[:n].sum()))
    return Evaluation(model.classes_, truth, found.probabilities[:n], seconds, rejection=rejection)


@dataclass(frozen=True)
class CrossValidation(Evaluation):
    """Predictions for images by models that were trained without them.

    Parameters
    ----------
    classes, truth, probabilities, seconds : as in `Evaluation`
    folds : array of shape (n_images,)
        The number of the fold in which each image was held out.
    """

    folds: np.ndarray

    @property
    def fold_accuracies(self) -> list[float]:
        """Accuracy on each fold."""
        correct = self.predicted == self.truth
        return [float(correct[self.folds == fold].mean()) for fold in range(self.folds.max() + 1)]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the accuracy.

        Any two training sets have images in common, so that folds are no independent samples, and an interval that
        takes them for such is too narrow. Nadeau and Bengio (2003) correct the variance of a mean over k folds, 1/k,
        to 1/k + 1/(k − 1). This is Wilson's interval with the number of images multiplied by (k − 1)/(2k − 1) for that.
        """
        k = int(self.folds.max()) + 1
        return wilson_interval(self.accuracy, len(self.truth) * (k - 1) / (2 * k - 1))


def cross_validate(
    model: DDLCNClassifier, images: Any, labels: ArrayLike, n_folds: int = 5, seed: int = 0
) -> CrossValidation:
    """Test each image by a model that is trained on the images of the other folds.

    Parameters
    ----------
    model : DDLCNClassifier
        Its parameters count; it is not changed.
    images : sequence of paths or arrays, or a matrix if the model has an `image_shape`
    labels : array
        At least two images of each class.
    n_folds : int
        Each has about the same share of every class.
    seed : int
        Decides which images are in which fold.

    Returns
    -------
    CrossValidation

    Raises
    ------
    DDLCNError
        If a class has only one image, or the largest class has fewer images than there are folds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits(n_class=2)
    >>> model = DDLCNClassifier(preset="paper", atoms_per_class=2)
    >>> result = cross_validate(model, digits.images[:40], digits.target[:40], n_folds=2)
    >>> result.accuracy, len(result.fold_accuracies)
    (1.0, 2)
    """
    images = as_images(images) if model.image_shape is None else np.asarray(images)
    labels = np.asarray(labels)
    if len(images) != len(labels):
        raise DDLCNError(f"{len(images)} images but {len(labels)} labels: give one label per image")
    classes, truth, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        few = listed((repr(str(name)) for name in classes[counts < 2]), 5)
        raise DDLCNError(f"only one image of {few}: cross-validation needs two images per class, add some")
    if n_folds > counts.max():
        raise DDLCNError(
            f"{n_folds} folds, but no class has more than {counts.max()} images: use at most that many folds"
        )
    folds, probabilities = np.empty(len(truth), int), np.empty((len(truth), len(classes)))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of classes with fewer images than folds
        parts = list(splitter.split(truth, truth))
    start = perf_counter()

    def probabilities_of(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        with listen(lambda *_: None):  # progress is in folds
            fitted = clone(model).fit(take(images, train), labels[train])
            return fitted.predict_proba(take(images, test))

    results = track("Folds", (probabilities_of(*part) for part in parts), total=n_folds)
    for fold, ((_, test), found) in enumerate(zip(parts, results, strict=True)):
        folds[test], probabilities[test] = fold, found
    return CrossValidation(classes, truth, probabilities, perf_counter() - start, folds)
