"""Example images for the page: confused pairs, worst mistakes with their evidence, best classes."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import Evaluation
from ddlcn.images import ImageSet
from ddlcn.report.pixels import data_uri, overlay, seen, shown

_PAIRS, _MISTAKES, _BEST, _EACH = 10, 8, 6, 4
_SMALL, _LARGE = 112, 256  # pixels


class Picture(NamedTuple):
    """An image of the page, and what it shows in words."""

    uri: str
    name: str


class Pair(NamedTuple):
    """Images of `truth` taken for `predicted`, and images of `predicted` to compare them with."""

    truth: Any
    predicted: Any
    n: int
    taken: list[Picture]
    others: list[Picture]


class Opinion(NamedTuple):
    """What speaks for a class in an image."""

    label: Any
    probability: float
    score: float
    bias: float
    uri: str


class Mistake(NamedTuple):
    """A wrong answer, with what spoke for it and what for the truth, on one scale."""

    picture: Picture
    opinions: tuple[Opinion, Opinion]


class Best(NamedTuple):
    """A class that is known well."""

    label: Any
    accuracy: float
    n: int
    pictures: list[Picture]


class Examples:
    """Pictures of labelled images, by their row."""

    def __init__(self, model: DDLCNClassifier, evaluation: Evaluation, test: ImageSet) -> None:
        self.model, self.evaluation, self.test = model, evaluation, test
        self.sure = evaluation.probabilities.max(axis=1)
        self.right = evaluation.predicted == evaluation.truth

    def pairs(self) -> list[Pair]:
        """The most frequent confusions."""
        codes = {name: code for code, name in enumerate(self.evaluation.classes.tolist())}
        found = []
        for truth, predicted, count in self.evaluation.most_confused(_PAIRS):
            t, p = codes[truth], codes[predicted]
            taken = (self.evaluation.truth == t) & (self.evaluation.predicted == p)
            others = (self.evaluation.truth == p) & self.right
            found.append(Pair(truth, predicted, count, self._surest(taken), self._surest(others)))
        return found

    def mistakes(self) -> list[Mistake]:
        """The wrong answers that the model was surest of."""
        wrong = np.flatnonzero(~self.right)
        return [self._mistake(i) for i in wrong[np.argsort(-self.sure[wrong], kind="stable")[:_MISTAKES]]]

    def best(self) -> list[Best]:
        """The classes with the largest share of right answers, then with the most images; half at most."""
        accuracy, n = self.evaluation.class_accuracy, np.bincount(self.evaluation.truth)
        known = [c for c in np.flatnonzero(n) if accuracy[c] > 0]
        return [
            Best(
                self.evaluation.classes[c],
                float(accuracy[c]),
                int(n[c]),
                self._surest(self.right & (self.evaluation.truth == c)),
            )
            for c in sorted(known, key=lambda c: (-accuracy[c], -n[c]))[: min(_BEST, -(-len(n) // 2))]
        ]

    def _surest(self, which: np.ndarray) -> list[Picture]:
        rows = np.flatnonzero(which)
        return [
            thumbnail(self.model, self.test, i)
            for i in rows[np.argsort(-self.sure[rows], kind="stable")[:_EACH]]
        ]

    def _mistake(self, i: int) -> Mistake:
        image, grey = self.test.images[i], seen(self.model, self.test.images[i])
        codes = self.evaluation.predicted[i], self.evaluation.truth[i]
        evidences = [self.model.explain(image, self.evaluation.classes[code]) for code in codes]
        maps = [evidence.map() for evidence in evidences]
        largest = max(float(np.abs(each).max()) for each in maps)
        first, second = (
            Opinion(
                evidence.label,
                float(self.evaluation.probabilities[i, code]),
                evidence.score,
                evidence.bias,
                data_uri(overlay(grey, own, largest), _LARGE),
            )
            for code, evidence, own in zip(codes, evidences, maps, strict=True)
        )
        picture = Picture(data_uri(shown(self.model, image), _LARGE), image_name(self.test, i))
        return Mistake(picture, (first, second))


def thumbnail(model: DDLCNClassifier, images: ImageSet, i: int) -> Picture:
    """A small picture of image i."""
    return Picture(data_uri(shown(model, images.images[i]), _SMALL), image_name(images, i))


def image_name(images: ImageSet, i: int) -> str:
    """The file's folder and name, or the row of an array."""
    return "/".join(PurePath(images.paths[i]).parts[-2:]) if images.paths else f"image {i}"
