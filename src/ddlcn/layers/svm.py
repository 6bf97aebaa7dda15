"""Output layer: one-vs-rest linear SVMs, the squared hinge of LIBLINEAR's default.

For each class, with targets t_i = ±1 and a bias as an extra feature of value 1,

    min over w, b of  P = ½‖w‖² + ½b² + C Σ_i max(0, 1 − t_i f_i)²,   f_i = w·x_i + b
    max over α ≥ 0 of D = Σ_i α_i − ½ Σ_ij t_i t_j α_i α_j (x_i·x_j + 1) − Σ_i α_i² / 4C

P − D ≥ 0 is the duality gap, the measure of how far an answer can be from the best. Solved by coordinate
descent on D: on the Gram matrix of the images if they are few, on their sparse rows if they are many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.linalg.blas import get_blas_funcs
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.errors import DDLCNError
from ddlcn.kernels import svm as kernels
from ddlcn.layers.threads import one_blas_thread

_LARGEST_GRAM = 10_000  # images; 400 MB. Up to here it is the faster way, whatever the features
_SPARSE = 0.04  # share of entries below which a sparse product of the rows is the faster one
_CLASSES_AT_ONCE = 8  # fills a vector register and, being fixed, makes answers the same on any number of jobs
C_GRID = (0.1, 1.0, 10.0, 100.0)


class LinearSVM(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM with calibrated probabilities.

    Parameters
    ----------
    C : float or "cv"
        Weight of the errors; "cv" takes the best of 0.1, 1, 10, 100 by cross-validation on the rows given.
    solver : "auto", "gram" or "coordinates"
        Descend on the Gram matrix of the images, or on their sparse rows; "auto" takes the first for up to
        10,000 images.
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

    def fit(self, X: Any, y: ArrayLike) -> LinearSVM:
        """Train on the rows of `X` (dense or CSR) with labels `y`."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float32, np.float64))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DDLCNError(f"only one class ({self.classes_[0]!r}): a classifier needs at least 2 classes")
        candidates = C_GRID if isinstance(self.C, str) else (float(self.C),)
        if (self.C != "cv" and isinstance(self.C, str)) or not min(candidates) > 0:
            raise DDLCNError(f'C={self.C!r}: must be a positive number or "cv"')
        if self.solver not in ("auto", "gram", "coordinates"):
            raise DDLCNError(f'solver={self.solver!r}: choose "auto", "gram" or "coordinates"')
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        if len(self.classes_) == 2:
            targets = targets[:, 1:]
        problem = _Problem(X, targets, self.solver, self.tol, self.random_state, self.n_jobs)
        with one_blas_thread():
            self.C_, self.scale_ = self._choose(problem, codes, candidates)
            self.coef_, self.intercept_, self.duality_gap_ = problem.solve(self.C_)
        return self

    def _choose(
        self, problem: _Problem, codes: np.ndarray, candidates: tuple[float, ...]
    ) -> tuple[float, float]:
        """The candidate C with the best held-out accuracy, then likelihood; and the scale of its scores."""
        folds = _folds(codes, np.random.RandomState(self.random_state))
        held_out = folds >= 0
        if not held_out.any():
            return candidates[len(candidates) // 2], 1.0
        results = []
        for C, found in zip(candidates, problem.held_out_scores(candidates, folds), strict=True):
            scores = _both_sides(found[held_out])
            scale, likelihood = _calibrate(scores, codes[held_out])
            accuracy = float((scores.argmax(axis=1) == codes[held_out]).mean())
            results.append((accuracy, likelihood, C, scale))
        _, _, C, scale = max(results)
        return C, scale

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances to the margins, a column for each class (one-dimensional for two classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float32, np.float64), reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest score."""
        return self.labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of the classes."""
        return self.probabilities(self.decision_function(X))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Labels of scores given by `decision_function`."""
        return self.classes_[_both_sides(scores).argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores given by `decision_function`; their order is that of the scores."""
        return softmax(self.scale_ * _both_sides(scores), axis=1)


class _Problem:
    """Rows and targets, solved by dual coordinate descent on the Gram matrix or on the sparse rows."""

    def __init__(
        self, X: Any, targets: np.ndarray, solver: str, tol: float, seed: int | None, n_jobs: int | None
    ) -> None:
        self.X, self.targets, self.tol, self.seed, self.n_jobs = csr_array(X), targets, tol, seed, n_jobs
        by_gram = solver == "gram" or (solver == "auto" and X.shape[0] <= _LARGEST_GRAM)
        self.gram = _gram(self.X, n_jobs) if by_gram else None

    def solve(self, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (k, d), biases and relative duality gaps on all rows."""
        everything = np.arange(len(self.targets))
        alphas, _, gaps = self._descend(everything, C, self.tol, np.zeros(self.targets.shape))
        duals = self.targets * alphas
        # column by column, as products with sparse rows read it
        return (self.X.T @ duals).T.astype(self.X.dtype, order="F"), duals.sum(axis=0), gaps

    def held_out_scores(self, candidates: tuple[float, ...], folds: np.ndarray) -> list[np.ndarray]:
        """For each C, scores of each row by a model trained without its fold; fold −1 is never held out."""
        found = [np.zeros(self.targets.shape) for _ in candidates]
        for fold in range(folds.max() + 1):
            train, alphas = np.flatnonzero(folds != fold), np.zeros(self.targets.shape)
            for C, scores in zip(candidates, found, strict=True):  # each starts where the last ended
                alphas, all_scores, _ = self._descend(train, C, max(self.tol, 1e-3), alphas)
                scores[folds == fold] = all_scores[folds == fold]
        return found

    def _descend(
        self, train: np.ndarray, C: float, tol: float, alphas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Dual variables, scores of all rows, and gaps; classes go to threads in parts of a fixed size."""
        k = self.targets.shape[1]
        parts = np.array_split(np.arange(k), k if self.gram is not None else -(-k // _CLASSES_AT_ONCE))
        results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(_descend)(self._descent(part, alphas), train, C, tol, self.seed) for part in parts
        )
        alphas, scores, gaps = (np.concatenate(arrays, axis=-1) for arrays in zip(*results, strict=True))
        return alphas, scores, gaps

    def _descent(self, part: np.ndarray, alphas: np.ndarray) -> _GramDescent | _SparseDescent:
        targets, alphas = self.targets[:, part], alphas[:, part]
        if self.gram is not None:
            return _GramDescent(self.gram, targets, alphas)
        return _SparseDescent(self.X, targets, alphas)


class _GramDescent:
    """One class on the Gram matrix (with 1 added for the bias): a step changes all scores."""

    def __init__(self, gram: np.ndarray, targets: np.ndarray, alphas: np.ndarray) -> None:
        self.gram, self.targets, self.alphas = gram, targets, alphas.copy()
        self.all_scores = gram @ (targets * alphas)

    def step(self, order: np.ndarray, ridge: float, active: np.ndarray, limit: float) -> float:
        one = (self.targets[:, 0], order, ridge, self.alphas[:, 0], self.all_scores[:, 0], active, limit)
        return kernels.gram_pass(self.gram, *one)

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        return self.all_scores, (self.targets * self.alphas * self.all_scores).sum(axis=0)


class _SparseDescent:
    """A few classes on sparse rows: a step changes the weights, the last of which is the bias."""

    def __init__(self, X: csr_array, targets: np.ndarray, alphas: np.ndarray) -> None:
        self.rows = (X.indptr, X.indices, X.data)
        self.targets, self.alphas = np.ascontiguousarray(targets), alphas.copy()
        duals = targets * alphas
        self.weights = np.vstack([X.T @ duals, duals.sum(axis=0)])
        self.squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel() + 1

    def step(self, order: np.ndarray, ridge: float, active: np.ndarray, limit: float) -> float:
        state = (self.squares, ridge, self.alphas, self.weights, active, limit)
        return kernels.sparse_pass(*self.rows, self.targets, order, *state)

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        return kernels.scores(*self.rows, self.weights), (self.weights**2).sum(axis=0)


def _descend(
    descent: _GramDescent | _SparseDescent, train: np.ndarray, C: float, tol: float, seed: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pass over the training rows in random order until the gap is small; rows at rest wait their turn."""
    rng, ridge = np.random.RandomState(seed), 1 / (2 * C)
    active, limit = np.zeros(len(descent.targets), np.bool_), np.inf
    active[train] = True
    for done in range(1, 10_001):
        limit = descent.step(rng.permutation(np.flatnonzero(active)), ridge, active, limit)
        if done % 5 == 0 or limit == 0 or not active.any():
            scores, squared_norm = descent.scores()
            slack = np.maximum(1 - descent.targets[train] * scores[train], 0)
            primal = squared_norm / 2 + C * (slack**2).sum(axis=0)
            dual = (descent.alphas - ridge / 2 * descent.alphas**2).sum(axis=0) - squared_norm / 2
            gaps = (primal - dual) / primal
            if (gaps <= tol).all() or limit == 0:
                break
            if done % 20 == 0 or not active.any():
                active[train] = True
                limit = np.inf
    return descent.alphas, scores, gaps


def _gram(X: csr_array, n_jobs: int | None) -> np.ndarray:
    """X Xᵀ + 1 in the precision of X; of rows that are not very sparse by dense blocks, summed in order."""
    X.sort_indices()
    n_rows, n_columns = X.shape
    if X.nnz < _SPARSE * n_rows * n_columns:
        return (X @ X.T).toarray() + X.dtype.type(1)
    width = max(256, 8_000_000 // n_rows)
    blocks = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(_block_product)(X, start, min(start + width, n_columns))
        for start in range(0, n_columns, width)
    )
    gram = np.ones((n_rows, n_rows), X.dtype)
    for block in blocks:
        gram += block
    upper = np.triu_indices(n_rows, 1)
    gram.T[upper] = gram[upper]
    return gram


def _block_product(X: csr_array, start: int, stop: int) -> np.ndarray:
    """Upper triangle of the product of some columns with themselves."""
    block = np.zeros((X.shape[0], stop - start), X.dtype)
    kernels.dense_columns(X.indptr, X.indices, X.data, start, block)
    return get_blas_funcs("syrk", (block,))(1.0, block.T, trans=1, lower=1).T


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


def _both_sides(scores: np.ndarray) -> np.ndarray:
    """A column of scores for each class; with two classes, half the score for one and against the other."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    half = scores.reshape(-1, 1) / 2
    return np.hstack([-half, half])


def _calibrate(scores: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
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
