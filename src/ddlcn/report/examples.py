"""Example images of the report: confused pairs, worst mistakes with their evidence, all mistakes, best classes.

Examples are dicts, for the page's templates; a picture has `uri`, `name`, and `coarse` if its pixels are few.
"""

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evaluation import Evaluation
from ddlcn.images import ImageSet
from ddlcn.report.explanation import evidence_maps
from ddlcn.report.pixels import as_image, data_uri, read_small, working_picture

_PAIRS, _MISTAKES, _BEST, _EACH = 10, 8, 6, 4
_SMALL, _LARGE = 112, 640  # pixels of the longest side, at most
_GALLERY, _SIDES, _PIXELS = 200, (240, 512), 12e6  # mistakes, their longest sides, and pixels of all together, at most
_COARSE = 100  # pixels of the longest side, below which pixels are shown as squares


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
        return self._each(self._mistake, self._most_confident(~self.correct, _MISTAKES))

    def gallery(self) -> dict[str, Any]:
        """Return mistakes, the most confident first, and how many `more` there are; the more, the smaller."""
        rows = self._most_confident(~self.correct, _GALLERY)
        side = int(np.clip(np.sqrt(_PIXELS / max(len(rows), 1)), *_SIDES))
        more = int(np.count_nonzero(~self.correct)) - len(rows)
        return {"mistakes": self._each(lambda i: self._wrong(i, side), rows), "more": more}

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

    def _each(self, make: Callable[[int], dict[str, Any]], rows: np.ndarray) -> list[dict[str, Any]]:
        return Parallel(n_jobs=self.model.n_jobs, prefer="threads")(delayed(make)(i) for i in rows)

    def _pictures(self, which: np.ndarray) -> list[dict[str, Any]]:
        return [picture(self.model, self.test, i) for i in self._most_confident(which, _EACH)]

    def _wrong(self, i: int, side: int) -> dict[str, Any]:
        """A mistake: its picture, and label and probability of both classes."""
        numbers = {"predicted": self.evaluation.predicted[i], "truth": self.evaluation.truth[i]}
        both = {
            role: {"label": self.evaluation.classes[c], "probability": self.evaluation.probabilities[i, c]}
            for role, c in numbers.items()
        }
        return {"picture": picture(self.model, self.test, i, side), **both}

    def _mistake(self, i: int) -> dict[str, Any]:
        """A mistake with the evidence for both classes; `before` is the deskewed image if the evidence is for that."""
        found, image = self._wrong(i, _LARGE), self.test.images[i]
        roles = found["predicted"], found["truth"]
        evidences = [self.model.explain(image, role["label"]) for role in roles]
        shape, encoder = evidences[0].shape, self.model.encoder_
        maps, _ = evidence_maps(encoder.working_image(as_image(self.model, image), shape), evidences)
        for role, evidence, drawn in zip(roles, evidences, maps, strict=True):
            role |= {"sum": evidence.as_sum(3), "uri": shown(drawn, _LARGE)["uri"]}
        deskewed = encoder.deskew is not None
        return found | {"before": shown(working_picture(self.model, image, shape), _LARGE) if deskewed else None}


def picture(model: DDLCNClassifier, images: ImageSet, i: int, side: int = _SMALL) -> dict[str, Any]:
    """Return a picture of image i, in colour."""
    return shown(read_small(model, images.images[i], side, colour=True), side) | {"name": image_name(images, i)}


def shown(pixels: np.ndarray, side: int) -> dict[str, Any]:
    """Return pixels as a picture whose longest side is at most `side`."""
    longest, coarse = min(side, max(pixels.shape[:2])), max(pixels.shape[:2]) < _COARSE
    return {"uri": data_uri(pixels, longest, "PNG" if coarse else "JPEG"), "coarse": coarse}


def image_name(images: ImageSet, i: int) -> str:
    """Return the file's folder and name, or the row of an array."""
    return "/".join(PurePath(images.paths[i]).parts[-2:]) if images.paths else f"image {i}"


def skipped_files(part: ImageSet) -> list[tuple[str, str]]:
    """Return files that could not be used, named from the data's folder on, and why."""
    root, found = Path(part.source), [(Path(path), reason) for path, reason in part.skipped]
    return [(str(path.relative_to(root) if root in path.parents else path), reason) for path, reason in found]
