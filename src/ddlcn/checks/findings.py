"""Findings about labelled images: each finding X has an `X_score` in [0, 1] and an `is_X`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddlcn.checks.duplicates import Duplicates, find_duplicates
from ddlcn.checks.facts import ImageFacts, image_facts
from ddlcn.checks.held_out import N_FOLDS, HeldOutPredictions, held_out_predictions
from ddlcn.checks.scores import blank_score, is_mislabelled, mislabelled_score, unbalanced_score, unusual_score
from ddlcn.classifier import DDLCNClassifier
from ddlcn.descriptors.color import grey_by_class_score
from ddlcn.images import ImageSet, take, value_range

IMAGE_FINDINGS = ("mislabelled", "duplicate", "unusual", "blank")  # in the order of columns
LIKELY = 0.5  # score from which on an image is unusual or blank
UNBALANCED = 0.9  # score: fewer than a tenth of the images of the largest class
GREY_BY_CLASS = 0.9


@dataclass(frozen=True, eq=False)
class DataCheck:
    """What was found in labelled images; nothing is changed or deleted.

    Attributes
    ----------
    images : ImageSet
    scores : dict
        For each of "mislabelled", "duplicate", "unusual" and "blank" a score per image, in [0, 1], high if the
        finding is likely; NaN if the image could not be judged.
    flags : dict
        For each of them whether the finding holds, per image.
    suggested : array of int
        The most likely class of images that are likely mislabelled; −1 for the others.
    duplicates : Duplicates
    colored : array of bool
        Whether each image has colour.
    held_out : HeldOutPredictions or None
        The predictions that the scores come from.
    """

    images: ImageSet
    scores: dict[str, np.ndarray]
    flags: dict[str, np.ndarray]
    suggested: np.ndarray
    duplicates: Duplicates
    colored: np.ndarray
    held_out: HeldOutPredictions | None

    @property
    def names(self) -> Sequence[str]:
        """The path of each image, or its place in the array."""
        return self.images.paths or [f"{self.images.source}[{row}]" for row in range(len(self.images))]

    @property
    def held_out_accuracy(self) -> float | None:
        """Share of the images that could be judged whose most likely class is their label."""
        score = self.scores["mislabelled"]
        judged = ~np.isnan(score)
        return float((score[judged] <= 0.5).mean()) if judged.any() else None

    @property
    def grey_by_class_score(self) -> float:
        """How far greyness follows the class."""
        return grey_by_class_score(self.colored, self.images.target)

    @property
    def is_grey_by_class(self) -> bool:
        """Whether greyness follows the class, so that a model may learn the kind of camera."""
        return self.grey_by_class_score >= GREY_BY_CLASS

    def first(self, finding: str) -> np.ndarray:
        """Return the rows of images with a finding, the highest score first.

        Parameters
        ----------
        finding : str
            One of "mislabelled", "duplicate", "unusual" and "blank".

        Returns
        -------
        array of int
        """
        rows = np.flatnonzero(self.flags[finding])
        return rows[np.argsort(-self.scores[finding][rows], kind="stable")]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per image, in JSON's types; None for what could not be judged.

        Returns
        -------
        list of dict
            path, label, suggested_label, duplicate_group, and an `X_score` and an `is_X` for each finding X.
        """
        labels, named, found = self.images.labels.tolist(), self.images.target_names.tolist(), []
        scores = {name: each.round(6).tolist() for name, each in self.scores.items()}
        for i, path in enumerate(self.names):
            row: dict[str, Any] = {"path": str(path), "label": labels[i]}
            row["suggested_label"] = named[self.suggested[i]] if self.suggested[i] >= 0 else None
            for name in IMAGE_FINDINGS:
                score = scores[name][i]
                row[f"{name}_score"] = score if score == score else None
                row[f"is_{name}"] = bool(self.flags[name][i])
            row["duplicate_group"] = int(self.duplicates.group[i]) or None
            found.append(row)
        return found

    def classes(self) -> list[dict[str, Any]]:
        """Return a dict per class: label, n_images, unbalanced_score, is_unbalanced and color_share."""
        y, names = self.images.target, self.images.target_names.tolist()
        counts = np.bincount(y, minlength=len(names))
        shares = np.bincount(y, self.colored, len(names)) / np.maximum(counts, 1)
        columns = zip(names, counts.tolist(), unbalanced_score(counts).tolist(), shares.tolist(), strict=True)
        return [
            {
                "label": label,
                "n_images": n,
                "unbalanced_score": score,
                "is_unbalanced": score > UNBALANCED,
                "color_share": share,
            }
            for label, n, score, share in columns
        ]

    def groups(self) -> list[dict[str, Any]]:
        """Return a dict per group of duplicates, those with different labels first.

        Returns
        -------
        list of dict
            group, paths, labels, labels_differ, and is_exact: whether all have the same pixels.
        """
        names, found = self.names, []
        for group, rows in enumerate(self.duplicates.members(), start=1):
            labels = self.images.labels[rows].tolist()
            found.append(
                {
                    "group": group,
                    "paths": [str(names[i]) for i in rows.tolist()],
                    "labels": labels,
                    "labels_differ": len(set(labels)) > 1,
                    "is_exact": bool(self.duplicates.is_exact[rows].all()),
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was found, in JSON's types; images without a finding are left out."""
        rows = self.rows()
        suspects = [row for row in rows if any(row[f"is_{name}"] for name in IMAGE_FINDINGS)]
        classes, groups = self.classes(), self.groups()
        return {
            "n_images": len(rows),
            "n_classes": len(classes),
            "held_out_accuracy": self.held_out_accuracy,
            "n_found": {name: int(self.flags[name].sum()) for name in IMAGE_FINDINGS}
            | {"unbalanced": sum(each["is_unbalanced"] for each in classes)},
            "grey_by_class_score": self.grey_by_class_score,
            "is_grey_by_class": self.is_grey_by_class,
            "classes": classes,
            "duplicates": groups,
            "images": sorted(suspects, key=lambda row: -max(row[f"{name}_score"] or 0 for name in IMAGE_FINDINGS)),
        }


def examine(images: ImageSet, facts: ImageFacts, held_out: HeldOutPredictions | None = None) -> DataCheck:
    """Find what looks wrong, from facts about images and held-out predictions if there are any.

    Parameters
    ----------
    images : ImageSet
    facts : ImageFacts
        Of these images, by `image_facts`.
    held_out : HeldOutPredictions, optional
        Of these images, by `held_out_predictions` or by a model's own cross-validation. Without it, labels are not
        judged.

    Returns
    -------
    DataCheck
    """
    y, unjudged = images.target, np.full(len(images), np.nan)
    duplicates = _numbered_by_importance(find_duplicates(facts), y)
    scores = {
        "mislabelled": mislabelled_score(held_out.probabilities, y) if held_out else unjudged,
        "duplicate": duplicates.score,
        "unusual": unusual_score(held_out.distances) if held_out else unjudged,
        "blank": blank_score(facts.contrasts),
    }
    flags = {
        "mislabelled": is_mislabelled(held_out.probabilities, y) if held_out else np.zeros(len(y), bool),
        "duplicate": duplicates.group > 0,
        "unusual": scores["unusual"] >= LIKELY,
        "blank": scores["blank"] >= LIKELY,
    }
    suggested = np.full(len(y), -1)
    if held_out:
        found = flags["mislabelled"]
        suggested[found] = held_out.probabilities[found].argmax(axis=1)
    return DataCheck(images, scores, flags, suggested, duplicates, facts.colored, held_out)


def check_images(images: ImageSet, model: DDLCNClassifier | None = None, n_folds: int = N_FOLDS) -> DataCheck:
    """Check labelled images: likely wrong labels, duplicates, unusual and blank images, unbalanced classes.

    Parameters
    ----------
    images : ImageSet
    model : DDLCNClassifier, optional
        Models with its parameters are trained, one per fold, so that no image is judged by a model that has seen it
        or a duplicate of it.
    n_folds : int

    Returns
    -------
    DataCheck

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> labels = digits.target[:200].copy()
    >>> labels[7] = 3
    >>> check = check_images(ImageSet.of(digits.images[:200], labels), DDLCNClassifier(atoms_per_class=5), n_folds=2)
    >>> check.first("mislabelled")[0].item(), check.rows()[7]["label"], check.rows()[7]["suggested_label"]
    (7, '3', '7')
    """
    model = DDLCNClassifier() if model is None else model
    facts = image_facts(images.images, value_range(images.images), model.n_jobs)
    group = find_duplicates(facts).group
    order = np.lexsort((facts.digests, images.target))  # the result does not depend on the order of images
    found = held_out_predictions(model, take(images.images, order), images.target[order], group[order], n_folds)
    back = np.argsort(order)
    return examine(images, facts, HeldOutPredictions(*(each[back] for each in found)))


def _numbered_by_importance(found: Duplicates, y: np.ndarray) -> Duplicates:
    """Groups with different labels first, then those of equal pixels."""
    members, renumbered = found.members(), np.zeros_like(found.group)
    keys = [(len(np.unique(y[rows])) == 1, not found.is_exact[rows].all()) for rows in members]
    for number, at in enumerate(sorted(range(len(members)), key=keys.__getitem__), start=1):
        renumbered[members[at]] = number
    return found._replace(group=renumbered)
