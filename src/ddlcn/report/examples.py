"""Example images of the report: confused pairs, worst mistakes with their evidence, best classes.

Examples are dicts, for the page's template; a picture is one of `uri` and `name`.
"""

from pathlib import PurePath
from typing import Any

import numpy as np

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import Evaluation
from ddlcn.images import ImageSet
from ddlcn.report.explanation import evidence_maps, sum_text
from ddlcn.report.pixels import as_image, data_uri, read_original

_PAIRS, _MISTAKES, _BEST, _EACH = 10, 8, 6, 4
_SMALL, _LARGE = 112, 256  # pixels


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

    def pairs(self) -> list[dict[str, Any]]:
        """Return the most frequent confusions, with `mistaken` images and `correct` ones of the predicted class."""
        numbers = {name: number for number, name in enumerate(self.evaluation.classes.tolist())}
        found = []
        for pair in self.evaluation.most_confused(_PAIRS):
            t, p = numbers[pair.truth], numbers[pair.predicted]
            mistaken = (self.evaluation.truth == t) & (self.evaluation.predicted == p)
            correct = (self.evaluation.truth == p) & self.correct
            found.append(pair._asdict() | {"mistaken": self._pictures(mistaken), "correct": self._pictures(correct)})
        return found

    def mistakes(self) -> list[dict[str, Any]]:
        """Return the wrong predictions with the highest probability, and the evidence for both classes on one scale."""
        return [self._mistake(i) for i in self._most_confident(~self.correct, _MISTAKES)]

    def best(self) -> list[dict[str, Any]]:
        """Return the classes of the highest recall, then with the most images; half of all at most."""
        classes, truth, recall = self.evaluation.classes, self.evaluation.truth, self.evaluation.recall
        n = np.bincount(truth)
        known = [c for c in np.flatnonzero(n) if recall[c] > 0]
        found = []
        for c in sorted(known, key=lambda c: (-recall[c], -n[c]))[: min(_BEST, -(-len(n) // 2))]:
            pictures = self._pictures(self.correct & (truth == c))
            found.append({"label": classes[c], "recall": recall[c], "n": n[c], "pictures": pictures})
        return found

    def _most_confident(self, which: np.ndarray, n: int) -> np.ndarray:
        rows = np.flatnonzero(which)
        return rows[np.argsort(-self.confidence[rows], kind="stable")[:n]]

    def _pictures(self, which: np.ndarray) -> list[dict[str, str]]:
        return [picture(self.model, self.test, i) for i in self._most_confident(which, _EACH)]

    def _mistake(self, i: int) -> dict[str, Any]:
        image, numbers = self.test.images[i], [self.evaluation.predicted[i], self.evaluation.truth[i]]
        evidences = [self.model.explain(image, self.evaluation.classes[number]) for number in numbers]
        grey = self.model.encoder_.working_image(as_image(self.model, image), evidences[0].shape)
        probabilities, (maps, _) = self.evaluation.probabilities[i, numbers], evidence_maps(grey, evidences)
        predicted, truth = (
            {"label": each.label, "probability": share, "sum": sum_text(each, 3), "uri": data_uri(drawn, _LARGE)}
            for each, share, drawn in zip(evidences, probabilities, maps, strict=True)
        )
        return {"picture": picture(self.model, self.test, i, _LARGE), "predicted": predicted, "truth": truth}


def picture(model: DDLCNClassifier, images: ImageSet, i: int, side: int = _SMALL) -> dict[str, str]:
    """Return a picture of image i, in colour."""
    pixels = read_original(model, images.images[i], colour=True)
    return {"uri": data_uri(pixels, side), "name": image_name(images, i)}


def image_name(images: ImageSet, i: int) -> str:
    """Return the file's folder and name, or the row of an array."""
    return "/".join(PurePath(images.paths[i]).parts[-2:]) if images.paths else f"image {i}"
