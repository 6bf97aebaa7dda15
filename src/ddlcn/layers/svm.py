"""Output layer: one-vs-rest linear SVMs, the squared hinge of LIBLINEAR's default.

For each class, with targets t_i = ±1 and a bias as an extra feature of value 1,

    min over w, b of  P = ½‖w‖² + ½b² + C Σ_i max(0, 1 − t_i f_i)²,   f_i = w·x_i + b
    max over α ≥ 0 of D = Σ_i α_i − ½ Σ_ij t_i t_j α_i α_j (x_i·x_j + 1) − Σ_i α_i² / 4C

P − D ≥ 0 is the duality gap, the measure of how far an answer can be from the best. Solved by coordinate
descent on D: on the Gram matrix of the images if they are few, on their sparse rows if they are many.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.errors import DDLCNError
from ddlcn.layers.descent import Folds, Problem
from ddlcn.layers.gram import product
from ddlcn.layers.rows import ROOM, MemoryRows, some_rows
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.layers.threads import one_blas_thread

C_GRID = (0.1, 1.0, 10.0, 100.0)
_MANY, _SAMPLE = 10_000, 5000  # of more rows than that, so many choose C and calibrate scores


class LinearSVM(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM with calibrated probabilities.

    Parameters
    ----------
    C : float or "cv"
        Weight of the errors; "cv" takes the best of 0.1, 1, 10, 100 by cross-validation on the rows given.
    solver : "auto", "gram" or "coordinates"
        Descend on the Gram matrix of the images, or on their sparse rows; "auto" takes the first for images
        no more than four times the entries in the row of one, and no more than 10,000.
    tol : float
        Stop at a duality gap of `tol` times the objective.
    random_state : int or None
        Seeds the order of coordinate descent and the folds.
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_classes, n_features) and (n_classes,); one row for two classes
    classes_ : the labels, sorted
    C_ : the C that was used
    duality_gap_ : the relative duality gap reached for each row of `coef_`
    scale_ : the factor that turns scores into calibrated log-odds, fitted on held-out rows

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM().fit(X, y)
    >>> bool(model.score(X, y) > 0.9), bool((model.duality_gap_ < 1e-6).all())
    (True, True)
    """

    def __init__(
        self,
        C: float | str = 1.0,
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, origins: np.ndarray | None = None) -> LinearSVM:
        """Train on the rows of `X` (dense, CSR, or what the network made of images) with labels `y`.

        `origins` says of each row which one it is a copy of; others are their own. While C is chosen and
        scores are calibrated, a copy trains only where its origin does, and none is held out.
        """
        if isinstance(X, MemoryRows | StoredRows):
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float32, np.float64))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DDLCNError(f"only one class ({self.classes_[0]!r}): a classifier needs at least 2 classes")
        candidates = candidates_of(self.C)
        if self.solver not in ("auto", "gram", "coordinates"):
            raise DDLCNError(f'solver={self.solver!r}: choose "auto", "gram" or "coordinates"')
        problem = Problem(X, codes, self.solver, self.tol, self.random_state, self.n_jobs)
        with one_blas_thread():
            self.C_, self.scale_ = self._choose(*_asked(problem, origins), candidates)
            self.coef_, self.intercept_, self.duality_gap_ = problem.solve(self.C_)
        if self.duality_gap_.max() > self.tol:
            warnings.warn(
                f"the SVM stopped at a duality gap of {self.duality_gap_.max():.1e}, above tol={self.tol:g}: "
                "scale the rows to unit length, or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _choose(
        self, problem: Problem, origins: np.ndarray | None, candidates: tuple[float, ...]
    ) -> tuple[float, float]:
        """The candidate C with the best held-out accuracy, then likelihood; and the scale of its scores."""
        results = []
        for C, (scores, truth) in zip(
            candidates, held_out_scores(problem, candidates, origins, self.random_state), strict=True
        ):
            if not len(truth):
                return candidates[len(candidates) // 2], 1.0
            scale, likelihood = calibrate(scores, truth)
            accuracy = float((scores.argmax(axis=1) == truth).mean())
            results.append((accuracy, likelihood, C, scale))
        _, _, C, scale = max(results)
        return C, scale

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances to the margins, a column for each class (one-dimensional for two classes)."""
        check_is_fitted(self)
        return self.scores(
            validate_data(self, X, accept_sparse="csr", dtype=(np.float32, np.float64), reset=False)
        )

    def scores(self, rows: csr_array) -> np.ndarray:
        """What `decision_function` gives, for rows that need no checking."""
        scores = product(rows, self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest score."""
        return self.labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of the classes."""
        return self.probabilities(self.decision_function(X))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Labels of scores given by `decision_function`."""
        return self.classes_[both_sides(scores).argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores given by `decision_function`; their order is that of the scores."""
        return softmax(self.scale_ * both_sides(scores), axis=1)


def candidates_of(C: float | str) -> tuple[float, ...]:
    """What a parameter C lets choose from.

    >>> candidates_of(2), candidates_of("cv")
    ((2.0,), (0.1, 1.0, 10.0, 100.0))
    """
    candidates = C_GRID if isinstance(C, str) else (float(C),)
    if (C != "cv" and isinstance(C, str)) or not min(candidates) > 0:
        raise DDLCNError(f'C={C!r}: must be a positive number or "cv"')
    return candidates


def _asked(problem: Problem, origins: np.ndarray | None) -> tuple[Problem, np.ndarray | None]:
    """The rows that choose C and calibrate scores: all; of very many, an even sample without copies."""
    codes = problem.codes
    if len(codes) <= _MANY:
        return problem, origins
    own = np.ones(len(codes), np.bool_) if origins is None else origins == np.arange(len(codes))
    rng, taken = np.random.RandomState(problem.seed), []
    for c in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(own & (codes == c)))
        taken.append(rows[: ceil(len(rows) * _SAMPLE / own.sum())])
    sample = np.sort(np.concatenate(taken))
    settings = (problem.solver, problem.tol, problem.seed, problem.n_jobs)
    return Problem(some_rows(problem.rows, sample, ROOM), codes[sample], *settings), None


def held_out_scores(
    problem: Folds, candidates: tuple[float, ...], origins: np.ndarray | None, seed: int | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each C, scores of rows by a model trained without them, a column for each class; and the classes.

    Rows that are copies of others, by `origins`, train where those do, and have no scores.
    """
    codes = problem.codes
    origins = np.arange(len(codes)) if origins is None else origins
    own = origins == np.arange(len(codes))
    folds = np.empty(len(codes), np.int64)
    folds[own] = _folds(codes[own], np.random.RandomState(seed))
    held_out = own & (folds >= 0)
    for found in problem.held_out_scores(candidates, folds[origins], held_out):
        yield both_sides(found), codes[held_out]


def _folds(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Fold of each row: 3 folds, each class dealt evenly; the only row of a class is never held out (−1).

    Of more than 5,000 rows a fifth is held out once, the rest (−1) always train: enough to calibrate on.
    """
    folds, n_folds = np.empty(len(codes), np.int64), 3 if len(codes) <= 5000 else 5
    for c in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == c))
        folds[rows] = np.arange(len(rows)) % n_folds if len(rows) > 1 else -1
    if n_folds == 5:
        folds[folds > 0] = -1
    return folds


def both_sides(scores: np.ndarray) -> np.ndarray:
    """A column of scores for each class; with two classes, half the score for one and against the other."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    half = scores.reshape(-1, 1) / 2
    return np.hstack([-half, half])


def calibrate(scores: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """The scale s that makes softmax(s · scores) likeliest, and its mean log-likelihood.

    As in Platt's method a little doubt is kept, one row in n + 2, so that no finite sample proves certainty.
    """
    doubt = 1 / (len(codes) + 2)

    def loss(log_scale: float) -> float:
        logs = log_softmax(np.exp(log_scale) * scores, axis=1)
        right = logs[np.arange(len(codes)), codes].mean()
        return -float((1 - doubt) * right + doubt * logs.mean())

    best = minimize_scalar(loss, bounds=(-5.0, 8.0), method="bounded")
    return float(np.exp(best.x)), -float(best.fun)
