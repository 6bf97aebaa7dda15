"""Conformal prediction: the labels that an image may have, and whether it is unlike the training images.

Some training images teach neither the dictionaries nor the SVM that scores them. New images of the same kind conform
to their classes as these do. The conformity of an image to a class is

    c = log probability − 10 · max(0, distance − usual distance)

The distance is for images that have no class at all: blank ones, noise, a grey face among colour photographs of
flowers. It is the Mahalanobis distance, from the held-out images, of a few facts about an image: how many codes of each
channel are active, how far they repeat over the image, how many of them are of coloured atoms, and the mean score over
all classes (see `image_facts`). With c_1, …, c_m the conformity of the held-out images to their own classes, a label
has the p-value

    p = (1 + number of c_i ≤ c) / (m + 1)

and the true label of a new image has p ≤ α in a share of at most about α of cases. By the same rule an image is
unknown if its expected conformity Σ probability · c is small beside that of the held-out images. At the usual distance
that is the entropy of its probabilities, with its sign changed. Here p is linear between the c_i, so that there are
few ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax
from scipy.stats import chi
from sklearn.covariance import LedoitWolf

from ddlcn.channel import Channel
from ddlcn.encoder import ImageEncoder
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn.linear.calibration import score_per_class

_PENALTY = 10.0  # of a unit of distance beyond the usual one, in log-probabilities
_USUAL = 0.999  # share of images that are at the usual distance or nearer, if their facts are normally distributed
LEAST_USUAL = 1.0  # distance
_PARTS = 20  # of the held-out images, each compared with the others
_SMALLEST_RATIO = 1e-3  # in place of a ratio of zero
SMALLEST_DEVIATION = 1e-3


@dataclass(frozen=True, eq=False)
class Conformal:
    """What is usual for held-out training images.

    Parameters
    ----------
    own : array of shape (n_images,)
        The conformity of each image to its own class.
    classes : array of int
        The number of its class.
    mean, deviation : arrays of shape (n_facts,)
        Of facts about the images.
    whitening : array of shape (n_facts, n_facts)
        Makes facts, in deviations from the mean, uncorrelated with variance 1.
    usual : array of shape (1,)
        The usual distance.
    expected : array of shape (n_images,)
        The expected conformity of each image.
    largest : array of shape (n_images,)
        In its place, in the first model files: the largest conformity of each image to any class.

    Examples
    --------
    >>> logs, facts = np.log([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]), np.zeros((3, 2))
    >>> held_out = Conformal.from_held_out(logs, np.array([0, 0, 1]), facts)
    >>> conformity = held_out.conformity(np.log([[0.85, 0.15], [0.5, 0.5]]), facts[:2])
    >>> held_out.p_values(conformity)
    array([[0.75, 0.25],
           [0.25, 0.25]])
    >>> held_out.novelty(conformity).round(2)
    array([0.39, 0.77])
    """

    own: np.ndarray
    classes: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    whitening: np.ndarray
    usual: np.ndarray
    expected: Any = None
    largest: Any = None

    @classmethod
    def from_held_out(cls, log_probabilities: np.ndarray, y: np.ndarray, facts: np.ndarray) -> Conformal:
        """Return the calibration by held-out images.

        Parameters
        ----------
        log_probabilities : array of shape (n_images, n_classes)
        y : array of int
            The numbers of their classes.
        facts : array of shape (n_images, n_facts)
            What `image_facts` returns.

        Returns
        -------
        Conformal
        """
        found = cls(np.empty(0), y.astype(np.int32), **_usual_facts(facts))
        conformity = np.empty(log_probabilities.shape, np.float32)
        part = np.arange(len(y)) % _PARTS
        for own in (part == n for n in range(min(len(y), _PARTS))):  # compared with the others: itself is too near
            others = replace(found, **_usual_facts(facts[~own])) if len(y) > 1 else found
            conformity[own] = others.conformity(log_probabilities[own], facts[own])
        return replace(found, own=conformity[np.arange(len(y)), y], expected=_expected(conformity))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, as in `calibration.own`."""
        found = {f"calibration.{each.name}": getattr(self, each.name) for each in fields(self)}
        return {name: array for name, array in found.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Conformal:
        """Return the calibration of what `arrays` returned."""
        names = {f"calibration.{each.name}": each.name for each in fields(cls)}
        return cls(**{names[name]: array for name, array in arrays.items() if name in names})

    def distances(self, facts: np.ndarray) -> np.ndarray:
        """Return the distance of images from the held-out ones, by what is usual: more than 1 is unusual.

        Parameters
        ----------
        facts : array of shape (n_images, n_facts)

        Returns
        -------
        array of shape (n_images,)
        """
        whitened = self._standard(facts) @ self.whitening.T
        return np.linalg.norm(whitened, axis=1) / self.usual[0]

    def _standard(self, facts: np.ndarray) -> np.ndarray:
        return (facts[:, : len(self.mean)] - self.mean) / self.deviation  # the first model files have fewer facts

    def conformity(self, log_probabilities: np.ndarray, facts: np.ndarray) -> np.ndarray:
        """Return the conformity of images to classes.

        Parameters
        ----------
        log_probabilities : array of shape (n_images, n_classes)
        facts : array of shape (n_images, n_facts)

        Returns
        -------
        array of shape (n_images, n_classes)
        """
        beyond = self.usual[0] * np.maximum(self.distances(facts) - 1, 0)
        return (log_probabilities - _PENALTY * beyond[:, None]).astype(np.float32)

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
        """Return 1 − p of the expected conformity of each image: high for images unlike the training images.

        Of n held-out images, p-values below 1 / (n + 1) tell the order of images only.

        Parameters
        ----------
        conformity : array of shape (n_images, n_classes)

        Returns
        -------
        array of shape (n_images,)
        """
        if self.expected is None:
            return 1 - _smooth_p_values(self.largest, conformity.max(axis=1))
        return 1 - _smooth_p_values(self.expected, _expected(conformity))

    def reasons(self, facts: np.ndarray, channels: Sequence[Channel]) -> list[str]:
        """Return what is most unusual about each image, in words.

        Parameters
        ----------
        facts : array of shape (n_images, n_facts)
        channels : sequence of Channel

        Returns
        -------
        list of str
        """
        repeated = [c.name for c in channels if sees_whole_image(c)]
        n_colored = sum(map(sees_color, channels))
        scores = ["its scores over all classes are unlike theirs"]
        codes, other = "has {} active codes than they usually have", "has features unlike theirs"
        texts = [f"channel {c.name} {codes if c.coder else other}" for c in channels]
        more, less = ([text.format(how) for text in texts] + scores for how in ("more", "fewer"))
        more += [f"codes of channel {name} repeat less over the image than theirs" for name in repeated]
        less += [f"codes of channel {name} repeat more over the image than theirs" for name in repeated]
        more += ["it is more colourful than they usually are"] * n_colored
        less += ["it has less colour than they usually have"] * n_colored
        found = []
        for distance, deviations in zip(self.distances(facts), self._standard(facts), strict=True):
            place = int(np.abs(deviations).argmax())
            unusual = (more if deviations[place] > 0 else less)[place]
            found.append("no class is likely enough" if distance <= 1 else unusual)
        return found

    def n_images(self, class_conditional: bool, n_classes: int) -> int:
        """Return the number of held-out images that p-values rest on: of all, or of the smallest class."""
        return int(np.bincount(self.classes, minlength=n_classes).min()) if class_conditional else len(self.own)


def image_facts(encoder: ImageEncoder, rows: csr_array, scores: np.ndarray) -> np.ndarray:
    """Return facts about images that do not depend on a class.

    Parameters
    ----------
    encoder : ImageEncoder
    rows : csr_array
        Features of the images.
    scores : array
        Their scores.

    Returns
    -------
    array of shape (n_images, n_facts)
        log ‖b‖₁ / ‖b‖₂ of the block b of each channel, the larger the more codes are active; the mean score; for each
        channel that pools over the whole image, log ‖w‖₂ / ‖b‖₂ of that part w of its block, the smaller the more
        often codes repeat over the image; and for each of these that describes colour, the log share of coloured atoms
        in the maxima of w.
    """
    activity, repetition, colors = [], [], []
    for channel, own, scale in zip(encoder.channels, encoder.slices, encoder.scales, strict=True):
        activity.append(np.asarray(abs(rows[:, own]).sum(axis=1)).ravel() / scale)
        if sees_whole_image(channel):
            whole = rows[:, own.start : own.start + channel.n_features // channel.pooling.n_cells]
            repetition.append(np.sqrt(np.asarray(whole.power(2).sum(axis=1)).ravel()) / scale)
        if sees_color(channel):
            colored = channel.descriptor.is_colored(channel.dictionaries[0])
            maxima = abs(whole[:, : len(colored)])
            colors.append(maxima @ colored / np.maximum(maxima.sum(axis=1), 1e-30))
    logs = [np.log(np.maximum(ratios, _SMALLEST_RATIO)) for ratios in (*activity, *repetition, *colors)]
    return np.column_stack([*logs[: len(activity)], score_per_class(scores).mean(axis=1), *logs[len(activity) :]])


def sees_whole_image(channel: Channel) -> bool:
    """Return whether the first cell that a channel pools over is the whole image."""
    return isinstance(channel.pooling, SpatialPyramid) and tuple(channel.pooling.levels)[:1] == (1,)


def sees_color(channel: Channel) -> bool:
    """Return whether a channel pools over the whole image, and its descriptor can tell coloured atoms."""
    reduced = getattr(channel.dictionary, "n_components", None)
    return hasattr(channel.descriptor, "is_colored") and sees_whole_image(channel) and not reduced


def _usual_facts(facts: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, deviation, whitening and usual distance of the facts of some images (see `Conformal`)."""
    n_images, n_facts = facts.shape
    mean, deviation = facts.mean(axis=0), np.maximum(facts.std(axis=0), SMALLEST_DEVIATION)
    standard = (facts - mean) / deviation
    covariance = LedoitWolf(assume_centered=True).fit(standard).covariance_ if n_images > 1 else np.eye(n_facts)
    values, vectors = np.linalg.eigh(covariance)
    whitening = (vectors / np.sqrt(np.maximum(values, 1e-3))).T
    few = (n_images + 1) / max(1, n_images - n_facts)  # images are too near to their own mean
    usual = np.array([few * chi.ppf(_USUAL, n_facts)])
    found = {"mean": mean, "deviation": deviation, "whitening": whitening, "usual": usual}
    return {name: array.astype(np.float32) for name, array in found.items()}


def _expected(conformity: np.ndarray) -> np.ndarray:
    """The mean conformity of each image over classes by their probabilities, which are its softmax."""
    return (softmax(conformity, axis=1) * conformity).sum(axis=1)


def _p_values(calibration: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(1 + number of calibration scores ≤ score) / (1 + their number)."""
    order = np.sort(calibration)
    return (1 + np.searchsorted(order, scores.astype(order.dtype), side="right")) / (1 + len(order))


def _smooth_p_values(calibration: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """p-values that are linear between calibration scores and 0, the largest score, and exponential below them."""
    order = np.append(np.sort(np.minimum(calibration, 0)), 0)
    ranks = np.interp(scores, order, np.arange(1, len(order) + 1))
    return ranks * np.exp(np.minimum(scores - order[0], 0)) / len(order)
