"""What all methods on rows share: classes in, scores out, the largest score wins."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.errors import DDLCNError
from ddlcn.layers.threads import one_blas_thread
from ddlcn.progress import track

_ROWS_AT_ONCE = 256


class ScoringClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that says how to learn from rows and codes of classes, and how to score rows."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # in the plane of scikit-learn's checks, every subspace is all
        return tags

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the rows of `X` with labels `y`."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DDLCNError(f"only one class ({self.classes_[0]!s}): a classifier needs at least 2 classes")
        with one_blas_thread():
            self._learn(X, codes)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, a column for each class (one-dimensional for two classes: second less first)."""
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

    def _learn(self, X: np.ndarray, codes: np.ndarray) -> None:
        raise NotImplementedError

    def _scores(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def residuals(Y: np.ndarray, codes: np.ndarray, atoms: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """‖y − Σ_{j of class c} x_j d_j‖² for each row y with its codes x, a column for each class c.

    >>> residuals(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]), np.eye(2), np.array([0, 1]))
    array([[4., 1.]])
    """
    classes = range(int(owners.max()) + 1)
    parts = (Y - codes[:, owners == c] @ atoms[owners == c] for c in classes)
    return np.stack([np.einsum("ij,ij->i", part, part) for part in parts], axis=1)
