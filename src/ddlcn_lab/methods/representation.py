"""A test image as a mixture of training images; the class with the smallest residual wins.

    x = code of y over training rows d_j,   label = argmin_c ‖y − Σ_{j of class c} x_j d_j‖₂

With lasso codes this is SRC (Wright, Yang, Ganesh, Sastry, Ma, PAMI 2009). With locality-constrained codes
over k bases it is one reading of the "LLC (k local bases)" rows of face tables; the other is a linear SVM on these
codes (`RowCodes`). With lasso codes over a dictionary per class it is CSDL-SRC (Liu, Tran, Chin, Li, Liu,
Neurocomputing 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans

from ddlcn.errors import DDLCNError
from ddlcn_lab.methods.classwise import ClasswiseDictionary
from ddlcn_lab.methods.coders import LassoCoder
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_codes, check_memory
from ddlcn_lab.methods.scoring import ScoringClassifier, residuals


class RepresentationClassifier(ScoringClassifier):
    """Sparse representation-based classification, by any coder.

    Parameters
    ----------
    coder : coder, optional
        By default the lasso with λ = 0.003.
    images_per_class : int or None
        Training rows per class that are kept, drawn by `random_state`; None is all.
    random_state : int
    atoms_per_class : int or None
        Replace the rows of each class by this number of atoms of an `L1BallDictionary`.
    l1_radius : float
        Its radius.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 0.1], [1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.1, 1.0, 0.0]])
    >>> RepresentationClassifier().fit(X, list("aabb")).predict([[0.9, 0.1, 0.0]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self,
        coder: Any = None,
        images_per_class: int | None = None,
        random_state: int = 0,
        atoms_per_class: int | None = None,
        l1_radius: float = 1.0,
    ) -> None:
        self.coder = coder
        self.images_per_class = images_per_class
        self.random_state = random_state
        self.atoms_per_class = atoms_per_class
        self.l1_radius = l1_radius

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        kept = draw(targets, self.images_per_class, self.random_state)
        self.atoms_, self.atom_classes_ = unit_rows(X[kept]), targets[kept]
        if self.atoms_per_class is not None:
            dictionary = ClasswiseDictionary(self.atoms_per_class, self.l1_radius, self.random_state)
            dictionary.fit(self.atoms_, self.atom_classes_)
            self.atoms_ = unit_rows(dictionary.components_.astype(np.float64))
            self.atom_classes_ = dictionary.atom_classes_
        if self.coder is None or isinstance(self.coder, LassoCoder):
            check_codes(0, len(self.atoms_))  # the lasso needs products of all pairs of atoms

    def _scores(self, X: np.ndarray) -> np.ndarray:
        coder = LassoCoder(penalty=0.003) if self.coder is None else self.coder
        Y = unit_rows(X)
        return -residuals(Y, coder.encode(Y, self.atoms_).dense(len(self.atoms_)), self.atoms_, self.atom_classes_)


class RowCodes(TransformerMixin, BaseEstimator):
    """Rows to their codes over training rows, for a linear classifier.

    Parameters
    ----------
    coder : coder
    per_class : int or None
        Training rows per class that are bases, drawn by `random_state`; None is all.
    random_state : int
    centres : bool
        Bases are k-means centres of each class, of unit length, instead of training rows.

    Attributes
    ----------
    atoms_ : ndarray
        The bases, class by class.

    Examples
    --------
    >>> from ddlcn.layers.coding import LLCCoder
    >>> RowCodes(LLCCoder(1), 1).fit_transform(np.eye(2), [0, 1])
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, coder: Any, per_class: int | None = None, random_state: int = 0, centres: bool = False) -> None:
        self.coder = coder
        self.per_class = per_class
        self.random_state = random_state
        self.centres = centres

    def fit(self, X: Any, y: Any) -> RowCodes:
        """Choose the bases among rows with labels `y`."""
        X, targets = unit_rows(np.asarray(X, np.float64)), np.unique(y, return_inverse=True)[1]
        chosen = draw(targets, self.per_class, self.random_state)
        check_memory(4 * len(X) * len(chosen), f"codes of {len(X)} samples", "set per_class lower")
        self.atoms_ = X[chosen]
        if self.centres:
            means = [
                MiniBatchKMeans(int(n), n_init=1, batch_size=4096, random_state=self.random_state).fit(X[targets == c])
                for c, n in enumerate(np.bincount(targets[chosen]))
            ]
            self.atoms_ = unit_rows(np.concatenate([each.cluster_centers_ for each in means]))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Dense codes of rows, a column per base."""
        return self.coder.encode(unit_rows(np.asarray(X, np.float64)), self.atoms_).dense(len(self.atoms_))


def draw(targets: np.ndarray, per_class: int | None, seed: int) -> np.ndarray:
    """Draw samples of each class.

    Parameters
    ----------
    targets : array of int
    per_class : int or None
        At most this number; None is all.
    seed : int

    Returns
    -------
    array of int
        Rows, class by class.

    Examples
    --------
    >>> draw(np.array([1, 0, 1, 0]), 1, seed=0)
    array([1, 0])
    """
    if per_class is not None and per_class < 1:
        raise DDLCNError(f"{per_class} samples per class: must be at least 1, or None for all")
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.flatnonzero(targets == c))[:per_class] for c in range(targets.max() + 1)])
