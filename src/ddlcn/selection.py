"""Selection: settings chosen on held-out training images, all by one rule.

Candidates come in a fixed order, the default first. A candidate replaces the incumbent if its mean gain in
held-out log-likelihood exceeds the standard error of that gain, image by image. Where fewer than four images can be
held out, the default stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from ddlcn.channel import Channel
from ddlcn.linear.gram import gram_matrix
from ddlcn.linear.svm import C_DEFAULT
from ddlcn.linear.validation import FEWEST, held_out_log_likelihood
from ddlcn.preprocessing.augmentation import Augmentation, copies

WEIGHTS = (1.0, 0.0, 0.5, 2.0, 4.0)  # of a channel, after its default
POLICIES = ("none", "flip", "affine")  # of augmentation, the default first
_MOST = 1000  # images that candidates are compared on
_FIRST = 300  # images that augmentation must gain on first, if there are twice as many
_PER_CLASS = 30
_MANY = 10_000  # images, beyond which augmentation is not worth its time

Encode = Callable[[np.ndarray, tuple[Augmentation, ...]], csr_array]  # rows of copies of training images


class Selection:
    """A sample of the training images, to compare candidates on; and a record of all comparisons.

    Parameters
    ----------
    y : array of int
        The classes of all training images, from 0.
    seed : int
        Draws the sample and its folds, which are the same for all comparisons.
    unseen : array of bool, optional
        The images that no dictionary is learnt from: only these are held out where dictionaries encode them, if each
        class has some.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    sample : array of int
        Rows of the images that candidates are compared on, in rising order.
    record : list of dict
        setting, candidate, mean_gain, standard_error, chosen, reason.

    Examples
    --------
    >>> selection = Selection(np.array([0, 0, 1, 1]), seed=0)
    >>> selection.choose("C", [1, 10], lambda C: np.log([0.5, 0.5, 0.6, 0.6]) + 0.1 * C)
    10
    >>> [(row["candidate"], row["chosen"]) for row in selection.record]
    [(1, False), (10, True)]
    """

    def __init__(self, y: np.ndarray, seed: int, unseen: np.ndarray | None = None, n_jobs: int | None = None) -> None:
        self.y, self.seed, self.n_jobs = y, seed, n_jobs
        self.unseen = np.ones(len(y), np.bool_) if unseen is None else unseen
        self.sample = _sample(y, seed)
        self.record: list[dict[str, Any]] = []

    def fixed(self, setting: str, value: Any, reason: str) -> Any:
        """Record a setting that nothing was compared for."""
        self.record.append(_row(setting, value, None, None, True, reason))
        return value

    def some_of_each_class(self, n_images: int) -> np.ndarray:
        """Rows of about so many training images, but at least three per class, evenly from all classes."""
        counts = np.bincount(self.y)
        per_class = max(3, n_images // len(counts))
        return np.concatenate([np.flatnonzero(self.y == c)[:per_class] for c in range(len(counts))])

    def choose(self, setting: str, candidates: Sequence[Any], log_likelihoods: Callable[[Any], np.ndarray]) -> Any:
        """Return the candidate that the rule takes; the default is first.

        Parameters
        ----------
        setting : str
        candidates : sequence
        log_likelihoods : callable
            For a candidate, the log-likelihood of each held-out image; empty if none can be held out.

        Returns
        -------
        One of the candidates.
        """
        incumbent, *others = candidates
        best = log_likelihoods(incumbent)
        if len(best) < FEWEST:
            return self.fixed(setting, incumbent, f"default, because fewer than {FEWEST} images can be held out")
        rows = [_row(setting, incumbent, 0.0, 0.0, False, "default")]
        for candidate in others:
            found = log_likelihoods(candidate)
            gains = found - best
            mean, error = float(gains.mean()), float(gains.std(ddof=1) / len(gains) ** 0.5)
            rows.append(_row(setting, candidate, mean, error, False, f"compared with {incumbent}"))
            if mean > error:
                incumbent, best = candidate, found
        next(row for row in rows if row["candidate"] == incumbent)["chosen"] = True
        self.record += rows
        return incumbent

    def deskew(
        self, size: tuple[float, float] | None, encode: Callable[[tuple[float, float] | None], csr_array]
    ) -> tuple[float, float] | None:
        """Whether images of the sample are better deskewed to a size; `encode` gives their rows."""
        if size is None:
            return self.fixed("deskew", None, "the images have no foreground on a uniform background")
        every = np.ones(len(self.y), np.bool_)  # may be held out: nothing is learnt from images
        chosen = self.choose(
            "deskew",
            [False, True],
            lambda on: self._log_likelihoods([encode(size if on else None)], self.sample, every),
        )
        return size if chosen else None

    def weights(self, channels: Sequence[Channel], grams: Callable[[], list[np.ndarray]]) -> list[float]:
        """The weights of channels, one after another; `grams` gives the Gram matrix of the sample by each."""
        found = [first_weight(channel) for channel in channels]
        free = [n for n, channel in enumerate(channels) if channel.weight == "auto"]
        if len(channels) == 1 or not free:
            return found
        by_channel = grams()

        def log_likelihoods(weights: Sequence[float]) -> np.ndarray:
            squares = np.square(weights, dtype=np.float32)
            return self._held_out(np.tensordot(squares / squares.sum(), by_channel, 1), self.sample)

        for n in free:
            before, after, name = found[:n], found[n + 1 :], channels[n].name
            least = getattr(channels[n].descriptor, "least_weight", 0)
            candidates = dict.fromkeys((found[n], *(weight for weight in WEIGHTS if weight >= least)))
            weights = {weight: (*before, weight, *after) for weight in candidates if any((*before, weight, *after))}
            found[n] = self.choose(f"weight of {name}", list(weights), _composed(log_likelihoods, weights))
        return found

    def augmentation(
        self, rows: csr_array, encode: Encode, policies: Sequence[str] = POLICIES
    ) -> tuple[str, np.ndarray, list[csr_array]]:
        """The policy of augmentation; and which of its copies were encoded for that, and their rows in parts.

        `rows` are those of all images, and `encode` gives rows of augmented copies. From 600 images on (more, if few
        classes have most of them), policies are compared on about 300 first, because encoding copies takes long; if
        none gains there, that is all.
        """
        if len(self.y) > _MANY:
            return self.fixed("augmentation", "none", f"more than {_MANY:,} images"), np.empty(0, np.int64), []
        encoded: dict[str, list[csr_array]] = {policy: [] for policy in policies}
        first = self.sample
        if len(first) >= 2 * _FIRST:
            first = first[_sample(self.y[first], self.seed, _FIRST)]
        order = np.concatenate([first, np.setdiff1d(self.sample, first)])

        def compare(images: np.ndarray) -> str:
            def log_likelihoods(policy: str) -> np.ndarray:
                if policy == "none":
                    return self._log_likelihoods([rows[images]], images)
                new = images[sum(part.shape[0] for part in encoded[policy]) :]
                augmentations = copies(policy, self.y)[1]  # the first ones are one of each image
                encoded[policy].append(encode(new, tuple(augmentations[image] for image in new)))
                return self._log_likelihoods([rows[images], *encoded[policy]], np.tile(images, 2))

            return self.choose("augmentation", policies, log_likelihoods)

        policy = compare(first)
        if policy != "none" and len(first) < len(order):
            del self.record[-len(policies) :]
            policy = compare(order)
        return policy, order[: sum(part.shape[0] for part in encoded[policy])], encoded[policy]

    def record_C(self, C: float, tried: list[dict[str, Any]]) -> None:
        """Record the C of an SVM and what it tried; its rule is the best log-likelihood."""
        if not tried:
            self.fixed("C", C, "given, by the preset, or default because too few images can be held out")
        default = next((row["log_likelihood"] for row in tried if row["candidate"] == C_DEFAULT), 0.0)
        for row in tried:
            gain = row["log_likelihood"] - default
            self.record.append(_row("C", row["candidate"], gain, None, row["chosen"], "by held-out log-likelihood"))

    def _log_likelihoods(
        self, parts: Sequence[csr_array], images: np.ndarray, unseen: np.ndarray | None = None
    ) -> np.ndarray:
        return self._held_out(gram_matrix(vstack(parts, format="csr"), self.n_jobs), images, unseen)

    def _held_out(self, gram: np.ndarray, images: np.ndarray, unseen: np.ndarray | None = None) -> np.ndarray:
        """Log-likelihoods by the Gram matrix of rows of these images; the first row of each is the original."""
        _, first, same = np.unique(images, return_index=True, return_inverse=True)
        unseen = (self.unseen if unseen is None else unseen)[images]
        return held_out_log_likelihood(
            gram, self.y[images], C_DEFAULT, self.seed, first[same], None, unseen, self.n_jobs
        )


def first_weight(channel: Channel) -> float:
    """The weight of a channel if it is given, else its default: 1, or the `default_weight` of its descriptor."""
    return float(getattr(channel.descriptor, "default_weight", 1) if channel.weight == "auto" else channel.weight)


def _composed(function: Callable[[Any], np.ndarray], values: dict[Any, Any]) -> Callable[[Any], np.ndarray]:
    return lambda key: function(values[key])


def _row(
    setting: str, candidate: Any, gain: float | None, error: float | None, chosen: bool, reason: str
) -> dict[str, Any]:
    return {
        "setting": setting,
        "candidate": candidate,
        "mean_gain": gain,
        "standard_error": error,
        "chosen": chosen,
        "reason": reason,
    }


def _sample(y: np.ndarray, seed: int, most: int = _MOST) -> np.ndarray:
    """Some images: as many classes as there is room for, up to 30 images of each, or more if classes are few.

    Few images per class would tell what helps where images are few, and few of many classes what helps these.
    """
    if len(y) <= most:
        return np.arange(len(y))
    rng, room = np.random.RandomState(seed), most
    n_classes, chosen = y.max() + 1, list[np.ndarray]()
    per_class = max(_PER_CLASS, room // n_classes)
    for c in rng.permutation(n_classes):
        own = rng.permutation(np.flatnonzero(y == c))[:per_class]
        if len(chosen) < 2 or len(own) <= room:
            chosen.append(own)
            room -= len(own)
    return np.sort(np.concatenate(chosen))
