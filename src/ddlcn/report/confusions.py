"""The confusion matrix of the report: a table if classes are few, an interactive picture if they are many."""

from typing import Any

import numpy as np

from ddlcn.evaluation import Evaluation
from ddlcn.report.pixels import data_uri

MOST_CLASSES = 60  # of the table
_RIGHT, _WRONG = (33, 118, 180), (214, 96, 20)


def class_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row per class that was tested or predicted, the lowest recall first, with its most frequent mistakes."""
    counts, names = evaluation.confusion, evaluation.classes
    correct, tested, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    for c in np.flatnonzero(tested + predicted):
        order = np.argsort(-counts[c], kind="stable")
        mistakes = [(names[p], int(counts[c, p])) for p in order[:4] if p != c and counts[c, p]]
        recall, precision = (correct[c] / n if n else None for n in (tested[c], predicted[c]))
        row = {"name": names[c], "n": int(tested[c]), "correct": int(correct[c])}
        rows.append(row | {"recall": recall, "precision": precision, "classified_as": mistakes[:3]})
    return sorted(rows, key=lambda row: (row["recall"] is None, row["recall"], -row["n"]))


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
