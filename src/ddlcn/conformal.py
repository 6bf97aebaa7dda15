"""Conformal prediction: the labels that an image may have, and whether it is unlike the training images.

Some training images teach neither the dictionaries nor the SVM that scores them. New images of the same kind score
as they do. With s_1, …, s_m their scores for their own classes, a label has the p-value

    p = (1 + number of s_i ≤ score for the label) / (m + 1)

and the true label of a new image has p ≤ α in a share of at most about α of cases. By the same rule an image is
unknown if it is stranger than these images. Strangeness is the larger of two deviations, in standard deviations:

    how far its largest score is below the mean
    how far the activity of a channel, log ‖b‖₁ / ‖b‖₂ of its block b, is from the mean, less three

The second finds what has no class at all: a blank image, noise, a digit among photographs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.linear.calibration import score_per_class
from ddlcn.linear.svm import LinearSVM

_USUAL = 3.0  # standard deviations of a channel's activity that are nothing strange
_SILENT = 1e-3  # activity of a channel whose block is zero
_REMEDY = 'train with images_per_class="auto" on at least two images per class'


@dataclass(frozen=True, eq=False)
class Conformal:
    """What is usual for held-out training images.

    Parameters
    ----------
    own : array of shape (n_images,)
        The score of each image for its own class.
    classes : array of int
        The number of its class.
    strangeness : array of shape (n_images,)
    mean, deviation : arrays of shape (1 + n_channels,)
        Of the largest score, and of the activity of each channel.

    Examples
    --------
    >>> scores, activity = np.array([[1.0, -1.0], [0.5, -1.0], [-1.0, 0.9]]), np.array([[2.0], [2.1], [2.2]])
    >>> held_out = Conformal.from_held_out(scores, np.array([0, 0, 1]), activity)
    >>> held_out.p_values(np.array([[0.95, -1.0], [-2.0, -2.0]]))
    array([[0.75, 0.25],
           [0.25, 0.25]])
    >>> held_out.novelty(np.array([[0.95, -1.0], [-2.0, -2.0]]), np.array([[2.0], [2.0]]))
    array([0.25, 0.75])
    """

    own: np.ndarray
    classes: np.ndarray
    strangeness: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def from_held_out(cls, scores: np.ndarray, y: np.ndarray, activity: np.ndarray) -> Conformal:
        """Return the calibration by held-out images.

        Parameters
        ----------
        scores : array of shape (n_images, n_classes)
        y : array of int
            The numbers of their classes.
        activity : array of shape (n_images, n_channels)

        Returns
        -------
        Conformal
        """
        facts = _facts(scores, activity)
        mean, deviation = facts.mean(axis=0), np.maximum(facts.std(axis=0), np.float32(1e-3))
        own = scores.astype(np.float32)[np.arange(len(y)), y]
        return cls(own, y.astype(np.int32), _strangeness(facts, mean, deviation), mean, deviation)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, as in `calibration.own`."""
        return {f"calibration.{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Conformal:
        """Return the calibration of what `arrays` returned."""
        return cls(*(arrays[f"calibration.{each.name}"] for each in fields(cls)))

    def p_values(self, scores: np.ndarray, class_conditional: bool = False) -> np.ndarray:
        """Return the p-value of each label.

        Parameters
        ----------
        scores : array of shape (n_images, n_classes)
        class_conditional : bool
            Compare with held-out images of that class only.

        Returns
        -------
        array of shape (n_images, n_classes)
        """
        if not class_conditional:
            return _p_values(self.own, scores)
        columns = [_p_values(self.own[self.classes == c], column) for c, column in enumerate(scores.T)]
        return np.stack(columns, axis=1)

    def novelty(self, scores: np.ndarray, activity: np.ndarray) -> np.ndarray:
        """Return 1 − p of the strangeness of each image: high for images unlike the training images.

        Parameters
        ----------
        scores : array of shape (n_images, n_classes)
        activity : array of shape (n_images, n_channels)

        Returns
        -------
        array of shape (n_images,)
        """
        return 1 - _p_values(-self.strangeness, -_strangeness(_facts(scores, activity), self.mean, self.deviation))

    def reasons(self, scores: np.ndarray, activity: np.ndarray, channels: Sequence[str]) -> list[str]:
        """Return what is strangest about each image, in words.

        Parameters
        ----------
        scores, activity : arrays
        channels : sequence of str
            Their names.

        Returns
        -------
        list of str
        """
        deviations = _deviations(_facts(scores, activity), self.mean, self.deviation)
        signs, found = np.sign(_facts(scores, activity) - self.mean), []
        for n, place in enumerate(deviations.argmax(axis=1)):
            much = "more" if signs[n, place] > 0 else "less"
            what = "its score is low for every class"
            found.append(f"it has {much} structure in channel {channels[place - 1]} than they have" if place else what)
        return found

    def n_images(self, class_conditional: bool, n_classes: int) -> int:
        """Return the number of held-out images that p-values rest on: of all, or of the smallest class."""
        return int(np.bincount(self.classes, minlength=n_classes).min()) if class_conditional else len(self.own)


def activity(encoder: ImageEncoder, rows: csr_array) -> np.ndarray:
    """Return log ‖b‖₁ / ‖b‖₂ of the block b of each row and channel: the more codes are active, the larger."""
    blocks = [abs(rows[:, own]) for own in encoder.slices]
    sums = np.stack([np.asarray(block.sum(axis=1)).ravel() for block in blocks], axis=1)
    return np.log(np.maximum(sums / np.array(encoder.scales, np.float32), np.float32(_SILENT)))


def _facts(scores: np.ndarray, activity: np.ndarray) -> np.ndarray:
    return np.column_stack([scores.max(axis=1), activity]).astype(np.float32)


def _deviations(facts: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """How strange each fact is, in standard deviations."""
    found = (facts - mean) / deviation
    return np.column_stack([-found[:, :1], np.abs(found[:, 1:]) - np.float32(_USUAL)])


def _strangeness(facts: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    return _deviations(facts, mean, deviation).max(axis=1)


class ConformalMixin:
    """Methods of a fitted classifier that has a calibration."""

    calibration_: Conformal | None
    classes_: np.ndarray
    encoder_: ImageEncoder
    svm_: LinearSVM

    def _parts(self, X: Any) -> Iterator[csr_array]:
        raise NotImplementedError

    def novelty(self, X: Any) -> np.ndarray:
        """Return how unlike the training images each image is.

        Parameters
        ----------
        X : images, as for `predict`

        Returns
        -------
        array of shape (n_images,)
            From 0 to 1: 1 − the conformal p-value. Of images like those of the training, a share of at most about α
            has more than 1 − α.

        Raises
        ------
        DDLCNError
            If the model has no calibration.
        """
        return self._calibration().novelty(*self._scores_and_activity(X))

    def is_unknown(self, X: Any, false_alarms: float = 0.05) -> np.ndarray:
        """Return whether each image is unlike the training images.

        Parameters
        ----------
        X : images, as for `predict`
        false_alarms : float
            Share of images of known classes that may be called unknown.

        Returns
        -------
        array of bool

        Raises
        ------
        DDLCNError
            If the model has no calibration, or one on too few images for this share.
        """
        self._check_share("false_alarms", false_alarms, false_alarms)
        return self.novelty(X) >= 1 - false_alarms - 1e-12

    def predict_set(self, X: Any, coverage: float = 0.95, class_conditional: bool = False) -> np.ndarray:
        """Return the labels that each image may have.

        Parameters
        ----------
        X : images, as for `predict`
        coverage : float
            Share of images whose true label is to be among them.
        class_conditional : bool
            Reach the coverage for each class, not only on average. Needs more training images.

        Returns
        -------
        array of bool, of shape (n_images, n_classes)
            A row without any True: unlike the training images, or too hard for this coverage.

        Raises
        ------
        DDLCNError
            If the model has no calibration, or one on too few images for this coverage.
        """
        self._check_share("coverage", coverage, 1 - coverage, class_conditional)
        return self._calibration().p_values(self._scores_and_activity(X)[0], class_conditional) > 1 - coverage + 1e-12

    def _scores_and_activity(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        parts = [(self.svm_.scores(rows), activity(self.encoder_, rows)) for rows in self._parts(X)]
        scores, active = map(np.concatenate, zip(*parts, strict=True))
        return score_per_class(scores), active

    def _calibration(self) -> Conformal:
        check_is_fitted(self, ["encoder_", "svm_"])
        if self.calibration_ is None:
            raise DDLCNError(f"this model has no calibration, because no image was held out: {_REMEDY}")
        return self.calibration_

    def _check_share(self, name: str, value: float, share: float, class_conditional: bool = False) -> None:
        """Raise if p-values of the calibration can't be as small as a share."""
        if not 0 < value < 1:
            raise DDLCNError(f"{name}={value!r}: must be between 0 and 1")
        have, needed = self._calibration().n_images(class_conditional, len(self.classes_)), ceil(1 / share - 1e-9) - 1
        if have < needed:
            where = "in every class" if class_conditional else "in all"
            what = f"{name}={value:g} needs {needed} held-out training images {where}, and this model has {have}"
            raise DDLCNError(f"{what}: train on about {3 * needed} images {where}, or ask for less")


def _p_values(calibration: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(1 + number of calibration scores ≤ score) / (1 + their number)."""
    order = np.sort(calibration)
    return (1 + np.searchsorted(order, scores.astype(order.dtype), side="right")) / (1 + len(order))
