"""The confusion matrix of the report: a table if classes are few, an interactive picture if they are many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ddlcn.evaluation import Evaluation
from ddlcn.report.pixels import data_uri

MOST_CELLS = 25  # rows and columns of the table
_RIGHT, _WRONG = (33, 118, 180), (214, 96, 20)


class ClassRow(NamedTuple):
    """A class: `correct` of its `n` images, their share, and the share of its predictions that are correct."""

    name: Any
    n: int
    correct: int
    recall: float | None
    precision: float | None
    classified_as: list[tuple[Any, int]]


def class_rows(evaluation: Evaluation) -> list[ClassRow]:
    """Return a row per class that was tested or predicted, with its most frequent mistakes."""
    counts, names = evaluation.confusion, evaluation.classes
    correct, tested, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    for c in np.flatnonzero(tested + predicted):
        order = np.argsort(-counts[c], kind="stable")
        mistakes = [(names[p], int(counts[c, p])) for p in order[:4] if p != c and counts[c, p]]
        recall, precision = (correct[c] / n if n else None for n in (tested[c], predicted[c]))
        rows.append(ClassRow(names[c], int(tested[c]), int(correct[c]), recall, precision, mistakes[:3]))
    return rows


def heat(evaluation: Evaluation) -> dict[str, Any]:
    """Return the matrix as a picture with a transparent background, and what a script needs to name its cells."""
    counts, k = evaluation.confusion, len(evaluation.classes)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    pixels = np.empty((k, k, 4), np.uint8)
    pixels[..., :3] = np.where(np.eye(k, dtype=bool)[..., None], _RIGHT, _WRONG)
    pixels[..., 3] = np.where(counts > 0, 70 + 185 * np.sqrt(share), 0)
    zoom = max(1, 800 // k)
    rows, columns = np.nonzero(counts)
    return {
        "uri": data_uri(pixels.repeat(zoom, axis=0).repeat(zoom, axis=1), k * zoom, "PNG"),
        "names": [str(name) for name in evaluation.classes],
        "counts": {f"{r},{c}": int(counts[r, c]) for r, c in zip(rows, columns, strict=True)},
    }
