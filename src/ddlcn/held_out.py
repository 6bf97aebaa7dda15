"""What training images say of a setting: on a sample of them an SVM is trained without some, in turn.

A setting is taken if it makes held-out images likelier by more than the standard error of that gain.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from ddlcn.layers.descent import GramFolds
from ddlcn.layers.gram import gram_matrix
from ddlcn.layers.rows import Rows
from ddlcn.layers.svm import calibrate, held_out_scores

_FEW, _MANY = 300, 1000  # images that settings are judged on: a fifth of all, within these
_FULL = 30  # of a class


class Judge:
    """A sample of training images, to compare the rows that settings make of them.

    Parameters
    ----------
    codes : array of int
        The classes of all training images, from 0.
    C : float
    seed : int or None
        Draws the sample and its folds, which are the same for all that is compared.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    sample : the numbers of its images, in rising order
    """

    def __init__(self, codes: np.ndarray, C: float, seed: int | None, n_jobs: int | None) -> None:
        self.C, self.n_jobs = C, n_jobs
        self.seed = np.random.RandomState().randint(2**31) if seed is None else seed
        self.sample = _sample(codes, self.seed)
        self._codes = np.unique(codes[self.sample], return_inverse=True)[1]

    def products(self, *parts: Rows, columns: slice = slice(None)) -> np.ndarray:
        """What `likelihoods` takes: the Gram matrix of the sample's rows, of parts one after another."""
        return gram_matrix(parts, self.n_jobs, columns)

    def likelihoods(self, gram: np.ndarray) -> np.ndarray:
        """The log-likelihood of each image that could be held out, under a model trained without it.

        The Gram matrix, with 1 added, is of rows of the sample, then of copies of each, one after another.
        """
        repeats = len(gram) // len(self.sample)
        codes, origins = np.tile(self._codes, repeats), np.tile(np.arange(len(self.sample)), repeats)
        problem = GramFolds(gram, codes, 1e-3, self.seed, self.n_jobs)
        [(scores, truth)] = held_out_scores(problem, (self.C,), origins, self.seed)
        scale = calibrate(scores, truth)[0] if len(truth) else 1.0
        return log_softmax(scale * scores, axis=1)[np.arange(len(truth)), truth]


def sure_gain(after: np.ndarray, before: np.ndarray) -> float:
    """The mean gain in log-likelihood, less its standard error.

    >>> sure_gain(np.array([1.0, 3.0]), np.zeros(2)) == 2 - 1 / 2**0.5
    True
    """
    gains = after - before
    return float(gains.mean() - gains.std() / len(gains) ** 0.5)


def _sample(codes: np.ndarray, seed: int | None) -> np.ndarray:
    """Some images: of as many classes as there is room for, up to 30 of each, or more if classes are few.

    Few images of each class would ask what helps when images are few; and few classes of many, what helps
    these.
    """
    rng, room = np.random.RandomState(seed), min(max(_FEW, len(codes) // 5), _MANY)
    chosen: list[np.ndarray] = []
    each = max(_FULL, room // (codes.max() + 1))
    for c in rng.permutation(codes.max() + 1):
        own = rng.permutation(np.flatnonzero(codes == c))[:each]
        if len(chosen) < 2 or len(own) <= room:
            chosen.append(own)
            room -= len(own)
    return np.sort(np.concatenate(chosen))
