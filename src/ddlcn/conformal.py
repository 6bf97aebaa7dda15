"""Conformal prediction: the labels that an image may have, and whether it is unlike the training images.

Some training images teach neither the dictionaries nor the SVM that scores them. New images of the same kind conform
to their classes as these do. The conformity of an image to a class is

    c = log probability − 10 · excess

The excess is for images that have no class at all: blank ones, noise, a digit among photographs. It is how far the
activity of a channel, log ‖b‖₁ / ‖b‖₂ of its block b, is from the mean of these images, beyond three standard
deviations. With c_1, …, c_m the conformity of these images to their own classes, a label has
the p-value

    p = (1 + number of c_i ≤ c) / (m + 1)

and the true label of a new image has p ≤ α in a share of at most about α of cases. By the same rule an image is
unknown if its largest conformity is small beside the largest ones of these images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm, t

from ddlcn.encoder import ImageEncoder

_USUAL = 3.0  # standard deviations of a channel's activity that are no excess
_WITHOUT_EXCESS = 0.975  # share of held-out images, at least, for each channel
_PRICE = 10.0  # of a standard deviation of excess, in log-probabilities
_SILENT = 1e-3  # ‖b‖₁ / ‖b‖₂ of a block of zeros
SMALLEST_DEVIATION = 1e-3


@dataclass(frozen=True, eq=False)
class Conformal:
    """What is usual for held-out training images.

    Parameters
    ----------
    own : array of shape (n_images,)
        The conformity of each image to its own class.
    largest : array of shape (n_images,)
        Its largest conformity to any class.
    classes : array of int
        The number of its class.
    mean, deviation : arrays of shape (n_channels,)
        Of the activity of each channel.

    Examples
    --------
    >>> logs, active = np.log([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]), np.array([[2.0], [2.1], [2.2]])
    >>> held_out = Conformal.from_held_out(logs, np.array([0, 0, 1]), active)
    >>> conformity = held_out.conformity(np.log([[0.85, 0.15], [0.5, 0.5]]), np.array([[2.0], [2.0]]))
    >>> held_out.p_values(conformity)
    array([[0.75, 0.25],
           [0.25, 0.25]])
    >>> held_out.novelty(conformity)
    array([0.25, 0.75])
    """

    own: np.ndarray
    largest: np.ndarray
    classes: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def from_held_out(cls, log_probabilities: np.ndarray, y: np.ndarray, activity: np.ndarray) -> Conformal:
        """Return the calibration by held-out images.

        Parameters
        ----------
        log_probabilities : array of shape (n_images, n_classes)
        y : array of int
            The numbers of their classes.
        activity : array of shape (n_images, n_channels)

        Returns
        -------
        Conformal
        """
        freedom = max(1, len(y) - 1)
        student = t.isf(norm.sf(_USUAL), freedom) / _USUAL  # the deviation of few images is uncertain
        mean = activity.mean(axis=0)
        spread = activity.std(axis=0) * np.sqrt((len(y) + 1) / freedom) * student
        tails = np.quantile(np.abs(activity - mean), _WITHOUT_EXCESS, axis=0) / _USUAL  # heavy ones
        deviation = np.maximum.reduce([spread, tails, np.full_like(spread, SMALLEST_DEVIATION)]).astype(np.float32)
        found = _conformity(log_probabilities, activity, mean, deviation)
        return cls(found[np.arange(len(y)), y], found.max(axis=1), y.astype(np.int32), mean, deviation)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, as in `calibration.own`."""
        return {f"calibration.{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Conformal:
        """Return the calibration of what `arrays` returned."""
        return cls(*(arrays[f"calibration.{each.name}"] for each in fields(cls)))

    def conformity(self, log_probabilities: np.ndarray, activity: np.ndarray) -> np.ndarray:
        """Return the conformity of images to classes.

        Parameters
        ----------
        log_probabilities : array of shape (n_images, n_classes)
        activity : array of shape (n_images, n_channels)

        Returns
        -------
        array of shape (n_images, n_classes)
        """
        return _conformity(log_probabilities, activity, self.mean, self.deviation)

    def deviations(self, activity: np.ndarray) -> np.ndarray:
        """Return by how many deviations the activity of channels differs from the mean; beyond three is unusual.

        Parameters
        ----------
        activity : array of shape (n_images, n_channels)

        Returns
        -------
        array of shape (n_images, n_channels)
        """
        return (activity - self.mean) / self.deviation

    def p_values(self, conformity: np.ndarray, class_conditional: bool = False) -> np.ndarray:
        """Return the p-value of each label.

        Parameters
        ----------
        conformity : array of shape (n_images, n_classes)
        class_conditional : bool
            Compare with held-out images of that class only.

        Returns
        -------
        array of shape (n_images, n_classes)
        """
        if not class_conditional:
            return _p_values(self.own, conformity)
        columns = [_p_values(self.own[self.classes == c], column) for c, column in enumerate(conformity.T)]
        return np.stack(columns, axis=1)

    def novelty(self, conformity: np.ndarray) -> np.ndarray:
        """Return 1 − p of the largest conformity of each image: high for images unlike the training images.

        Parameters
        ----------
        conformity : array of shape (n_images, n_classes)

        Returns
        -------
        array of shape (n_images,)
        """
        return 1 - _p_values(self.largest, conformity.max(axis=1))

    def reasons(self, activity: np.ndarray, channels: Sequence[str]) -> list[str]:
        """Return what is most unusual about each image, in words.

        Parameters
        ----------
        activity : array of shape (n_images, n_channels)
        channels : sequence of str
            Their names.

        Returns
        -------
        list of str
        """
        found = []
        for deviations in self.deviations(activity):
            place = int(np.abs(deviations).argmax())
            much = "more" if deviations[place] > 0 else "fewer"
            unusual = f"channel {channels[place]} has {much} active codes than they usually have"
            found.append(unusual if abs(deviations[place]) > _USUAL else "no class is likely enough")
        return found

    def n_images(self, class_conditional: bool, n_classes: int) -> int:
        """Return the number of held-out images that p-values rest on: of all, or of the smallest class."""
        return int(np.bincount(self.classes, minlength=n_classes).min()) if class_conditional else len(self.own)


def activity(encoder: ImageEncoder, rows: csr_array) -> np.ndarray:
    """Return log ‖b‖₁ / ‖b‖₂ of the block b of each row and channel: the more codes are active, the larger."""
    blocks = [abs(rows[:, own]) for own in encoder.slices]
    sums = np.stack([np.asarray(block.sum(axis=1)).ravel() for block in blocks], axis=1)
    return np.log(np.maximum(sums / np.array(encoder.scales, np.float32), np.float32(_SILENT)))


def _conformity(
    log_probabilities: np.ndarray, activity: np.ndarray, mean: np.ndarray, deviation: np.ndarray
) -> np.ndarray:
    excess = np.maximum(np.abs((activity - mean) / deviation).max(axis=1, keepdims=True) - _USUAL, 0)
    return (log_probabilities - _PRICE * excess).astype(np.float32)


def _p_values(calibration: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(1 + number of calibration scores ≤ score) / (1 + their number)."""
    order = np.sort(calibration)
    return (1 + np.searchsorted(order, scores.astype(order.dtype), side="right")) / (1 + len(order))
