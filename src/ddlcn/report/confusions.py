"""The confusion matrix for the page: a table when classes are few, a picture to point at when many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ddlcn.evaluation import Evaluation
from ddlcn.report.pixels import data_uri

MOST_CELLS = 25  # classes a side of the table
_RIGHT, _WRONG = (33, 118, 180), (214, 96, 20)


class ClassRow(NamedTuple):
    """How a class fared: `right` of its `n` images, and `precision` of the answers that named it."""

    name: Any
    n: int
    right: int
    accuracy: float | None
    precision: float | None
    taken_for: list[tuple[Any, int]]


def class_rows(evaluation: Evaluation) -> list[ClassRow]:
    """A row for each class that was tested or answered, with its most frequent mistakes."""
    counts, names = evaluation.confusion, evaluation.classes
    right, tested, answered = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    for c in np.flatnonzero(tested + answered):
        mistakes = [
            (names[p], int(counts[c, p])) for p in np.argsort(-counts[c], kind="stable")[:4] if p != c
        ]
        rows.append(
            ClassRow(
                names[c],
                int(tested[c]),
                int(right[c]),
                right[c] / tested[c] if tested[c] else None,
                right[c] / answered[c] if answered[c] else None,
                [(name, count) for name, count in mistakes[:3] if count],
            )
        )
    return rows


def heat(evaluation: Evaluation) -> dict[str, Any]:
    """The matrix as a picture with a see-through ground, and what a script needs to name its cells."""
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
