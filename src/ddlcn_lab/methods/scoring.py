"""The base class of methods on rows: the class with the largest score wins."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track

_ROWS_AT_ONCE = 256


class ScoringClassifier(ClassifierMixin, BaseEstimator):
    """A classifier on rows; a method defines `_learn(X, targets)` and `_scores(X)`.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # in two dimensions, as in scikit-learn's checks, subspaces tell nothing
        return tags

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the rows of `X` with labels `y`."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DDLCNError(f"only one class ({self.classes_[0]!s}): a classifier needs at least 2 classes")
        with one_blas_thread():
            self._learn(X, targets)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, a column per class (one-dimensional for two classes: second less first)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        starts = range(0, len(X), _ROWS_AT_ONCE)
        with one_blas_thread():
            parts = (self._scores(X[start : start + _ROWS_AT_ONCE]) for start in starts)
            scores = np.concatenate(list(track("Predicting", parts, total=len(starts))))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        raise NotImplementedError

    def _scores(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def residuals(Y: np.ndarray, codes: np.ndarray, atoms: np.ndarray, atom_classes: np.ndarray) -> np.ndarray:
    """‖y − Σ_{j of class c} x_j d_j‖² for each row y with its codes x, a column per class c.

    Examples
    --------
    >>> residuals(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]), np.eye(2), np.array([0, 1]))
    array([[4., 1.]])
    """
    classes = range(int(atom_classes.max()) + 1)
    parts = (Y - codes[:, atom_classes == c] @ atoms[atom_classes == c] for c in classes)
    return np.stack([np.einsum("ij,ij->i", part, part) for part in parts], axis=1)
