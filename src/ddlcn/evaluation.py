"""How good a model is on labelled images: accuracy with its interval, classes, confusions."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from ddlcn.errors import DDLCNError

if TYPE_CHECKING:
    from ddlcn.classifier import DDLCNClassifier


class Confusion(NamedTuple):
    """`times` images of class `truth` were taken for `predicted`."""

    truth: Any
    predicted: Any
    times: int


@dataclass(frozen=True)
class Evaluation:
    """Answers of a model beside the truth.

    >>> result = Evaluation(np.array(["a", "b"]), np.array([0, 0, 1, 1]), np.eye(2)[[0, 0, 1, 0]], 0.1)
    >>> result.accuracy, result.most_confused()
    (0.75, [Confusion(truth='b', predicted='a', times=1)])
    """

    classes: np.ndarray
    truth: np.ndarray  # (n,) codes into classes
    probabilities: np.ndarray  # (n, n_classes)
    seconds: float

    @property
    def predicted(self) -> np.ndarray:
        """Codes of the answers."""
        return self.probabilities.argmax(axis=1)

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float((self.predicted == self.truth).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the accuracy (Wilson)."""
        right = int((self.predicted == self.truth).sum())
        low, high = binomtest(right, len(self.truth)).proportion_ci(method="wilson")
        return float(low), float(high)

    @property
    def confusion(self) -> np.ndarray:
        """Counts, a row for each true class and a column for each answer."""
        k = len(self.classes)
        return np.bincount(self.truth * k + self.predicted, minlength=k * k).reshape(k, k)

    @property
    def class_accuracy(self) -> np.ndarray:
        """Share of right answers in each class; NaN where a class has no image."""
        counts = self.confusion
        with np.errstate(invalid="ignore"):
            return np.diag(counts) / counts.sum(axis=1)

    def most_confused(self, n: int = 5) -> list[Confusion]:
        """The n most frequent mistakes, most frequent first."""
        counts = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-counts, axis=None, kind="stable")[:n]
        pairs = (np.unravel_index(i, counts.shape) for i in order)
        return [
            Confusion(self.classes[t].item(), self.classes[p].item(), int(counts[t, p]))
            for t, p in pairs
            if counts[t, p]
        ]


def evaluate(model: DDLCNClassifier, images: Any, labels: np.ndarray) -> Evaluation:
    """Ask a model about labelled images; every label must be a class that it knows."""
    codes = {str(name): code for code, name in enumerate(model.classes_)}  # "7" from a folder is the number 7
    if strange := sorted(set(map(str, labels)) - set(codes)):
        raise DDLCNError(
            f"class {strange[0]!r} is not one the model knows: it was trained on "
            f"{', '.join(map(str, model.classes_[:5]))}{', …' if len(model.classes_) > 5 else ''}"
        )
    truth = np.array([codes[str(label)] for label in labels])
    start = perf_counter()
    probabilities = model.predict_proba(images)
    return Evaluation(model.classes_, truth, probabilities, perf_counter() - start)
