"""Example images of the report: confused pairs, worst mistakes with their evidence, best classes."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import Evaluation
from ddlcn.images import ImageSet
from ddlcn.report.explanation import evidence_maps, sum_text
from ddlcn.report.pixels import as_image, data_uri, read_original

_PAIRS, _MISTAKES, _BEST, _EACH = 10, 8, 6, 4
_SMALL, _LARGE = 112, 256  # pixels


class Picture(NamedTuple):
    """An image of the page, and its name."""

    uri: str
    name: str


class Pair(NamedTuple):
    """Images of `truth` classified as `predicted`, and correctly classified ones of `predicted` beside them."""

    truth: Any
    predicted: Any
    n: int
    mistaken: list[Picture]
    correct: list[Picture]


class Explained(NamedTuple):
    """The evidence for a class in an image."""

    label: Any
    probability: float
    sum: str
    uri: str


class Mistake(NamedTuple):
    """A wrong prediction, with the evidence for it and for the true class, on one scale."""

    picture: Picture
    predicted: Explained
    truth: Explained


class Best(NamedTuple):
    """A class of high recall."""

    label: Any
    recall: float
    n: int
    pictures: list[Picture]


class Examples:
    """Pictures of tested images.

    Parameters
    ----------
    model : DDLCNClassifier
    evaluation : Evaluation
        The model's predictions for `test`, in its order.
    test : ImageSet
    """

    def __init__(self, model: DDLCNClassifier, evaluation: Evaluation, test: ImageSet) -> None:
        self.model, self.evaluation, self.test = model, evaluation, test
        self.confidence = evaluation.probabilities.max(axis=1)
        self.correct = evaluation.predicted == evaluation.truth

    def pairs(self) -> list[Pair]:
        """Return the most frequent confusions."""
        numbers = {name: number for number, name in enumerate(self.evaluation.classes.tolist())}
        found = []
        for truth, predicted, count in self.evaluation.most_confused(_PAIRS):
            t, p = numbers[truth], numbers[predicted]
            mistaken = (self.evaluation.truth == t) & (self.evaluation.predicted == p)
            correct = (self.evaluation.truth == p) & self.correct
            found.append(Pair(truth, predicted, count, self._pictures(mistaken), self._pictures(correct)))
        return found

    def mistakes(self) -> list[Mistake]:
        """Return the wrong predictions with the highest probability."""
        return [self._mistake(i) for i in self._most_confident(~self.correct, _MISTAKES)]

    def best(self) -> list[Best]:
        """Return the classes of the highest recall, then with the most images; half of all at most."""
        classes, truth, recall = self.evaluation.classes, self.evaluation.truth, self.evaluation.recall
        n = np.bincount(truth)
        known = [c for c in np.flatnonzero(n) if recall[c] > 0]
        best = sorted(known, key=lambda c: (-recall[c], -n[c]))[: min(_BEST, -(-len(n) // 2))]
        return [
            Best(classes[c], float(recall[c]), int(n[c]), self._pictures(self.correct & (truth == c))) for c in best
        ]

    def _most_confident(self, which: np.ndarray, n: int) -> np.ndarray:
        rows = np.flatnonzero(which)
        return rows[np.argsort(-self.confidence[rows], kind="stable")[:n]]

    def _pictures(self, which: np.ndarray) -> list[Picture]:
        return [picture(self.model, self.test, i) for i in self._most_confident(which, _EACH)]

    def _mistake(self, i: int) -> Mistake:
        image, numbers = self.test.images[i], [self.evaluation.predicted[i], self.evaluation.truth[i]]
        grey = self.model.encoder_.working_image(as_image(self.model, image))
        evidences = [self.model.explain(image, self.evaluation.classes[number]) for number in numbers]
        probabilities, (maps, _) = self.evaluation.probabilities[i, numbers], evidence_maps(grey, evidences)
        both = (
            Explained(evidence.label, float(probability), sum_text(evidence, 3), data_uri(drawn, _LARGE))
            for evidence, probability, drawn in zip(evidences, probabilities, maps, strict=True)
        )
        return Mistake(picture(self.model, self.test, i, _LARGE), *both)


def picture(model: DDLCNClassifier, images: ImageSet, i: int, side: int = _SMALL) -> Picture:
    """Return a picture of image i, in colour."""
    return Picture(data_uri(read_original(model, images.images[i], colour=True), side), image_name(images, i))


def image_name(images: ImageSet, i: int) -> str:
    """Return the file's folder and name, or the row of an array."""
    return "/".join(PurePath(images.paths[i]).parts[-2:]) if images.paths else f"image {i}"
