"""A dictionary per class on samples that are given, as in the first layer (Eq. 2)."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ddlcn.layers.dictionary import L1BallDictionary, class_seeds


class ClasswiseDictionary(BaseEstimator):
    """The first layer's dictionary: one `L1BallDictionary` per class, side by side (Eq. 2).

    Parameters
    ----------
    atoms_per_class : int
    l1_radius : float
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    components_ : ndarray of shape (n_classes * atoms_per_class, n_features)
    atom_classes_ : ndarray
        The class that each atom was learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).normal(size=(60, 8))
    >>> dictionary = ClasswiseDictionary(atoms_per_class=2, random_state=0).fit(Y, np.repeat([3, 5, 7], 20))
    >>> dictionary.atom_classes_
    array([3, 3, 5, 5, 7, 7])
    """

    def __init__(
        self,
        atoms_per_class: int = 15,
        l1_radius: float = 0.35,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.l1_radius = l1_radius
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, Y: ArrayLike, y: ArrayLike) -> ClasswiseDictionary:
        """Learn atoms for the samples `Y` of each class in `y`."""
        samples, y = validate_data(self, Y, y, dtype=np.float32, order="C")
        classes, targets = np.unique(y, return_inverse=True)
        seeds = class_seeds(self.random_state, len(classes))
        dictionaries = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._one(seed).fit)(samples[targets == c]) for c, seed in enumerate(seeds)
        )
        self.components_ = np.concatenate([d.components_ for d in dictionaries])
        self.atom_classes_ = np.repeat(classes, self.atoms_per_class)
        return self

    def _one(self, seed: int) -> L1BallDictionary:
        return L1BallDictionary(self.atoms_per_class, self.l1_radius, random_state=seed)
