"""How good a model is on labelled images: accuracy with its interval, recall of classes, confusions."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, recall_score

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError, listed


class Confusion(NamedTuple):
    """`times` images of class `truth` were classified as `predicted`."""

    truth: Any
    predicted: Any
    times: int


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
        correct = int((self.predicted == self.truth).sum())
        low, high = binomtest(correct, len(self.truth)).proportion_ci(method="wilson")
        return float(low), float(high)

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


def evaluate(model: DDLCNClassifier, images: Any, labels: np.ndarray) -> Evaluation:
    """Classify labelled images.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    images : sequence of paths or arrays
    labels : array
        A class of the model for each image; the text "7" is the number 7.

    Returns
    -------
    Evaluation

    Raises
    ------
    DDLCNError
        If a label is not a class of the model.
    """
    numbers = {str(name): number for number, name in enumerate(model.classes_)}
    if unknown := sorted(set(map(str, labels)) - set(numbers)):
        which = f"{listed(map(repr, unknown), 5)} {'are no classes' if len(unknown) > 1 else 'is not a class'}"
        what = f"{which} of this model, which was trained on {listed(numbers, 5)}"
        raise DDLCNError(f"{what}: remove these images, or extend the model")
    truth = np.array([numbers[str(label)] for label in labels])
    start = perf_counter()
    probabilities = model.predict_proba(images)
    return Evaluation(model.classes_, truth, probabilities, perf_counter() - start)
