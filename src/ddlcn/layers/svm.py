"""Output layer: one-vs-rest linear SVMs, the squared hinge of LIBLINEAR's default.

For each class, with targets t_i = ±1 and a bias as an extra feature of value 1,

    min over w, b of  P = ½‖w‖² + ½b² + C Σ_i max(0, 1 − t_i f_i)²,   f_i = w·x_i + b
    max over α ≥ 0 of D = Σ_i α_i − ½ Σ_ij t_i t_j α_i α_j (x_i·x_j + 1) − Σ_i α_i² / 4C

P − D ≥ 0 is the duality gap, the measure of how far an answer can be from the best. Few images: Newton's
method on their Gram matrix, all classes at once. Many: dual coordinate descent on the sparse rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, issparse
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.errors import DDLCNError
from ddlcn.kernels import svm as kernels
from ddlcn.layers.threads import one_blas_thread

_ALWAYS_GRAM = 4_000  # images; up to here the Gram matrix is the faster way whatever the features
_LARGEST_GRAM = 10_000  # images; 800 MB
_CLASSES_AT_ONCE = 8  # fills a vector register and, being fixed, makes answers the same on any number of jobs
C_GRID = (0.1, 1.0, 10.0, 100.0)


class LinearSVM(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM with calibrated probabilities.

    Parameters
    ----------
    C : float or "cv"
        Weight of the errors; "cv" takes the best of 0.1, 1, 10, 100 by cross-validation on the rows given.
    solver : "auto", "gram" or "coordinates"
        Newton's method on the Gram matrix of the images, or coordinate descent on their sparse rows;
        "auto" takes the first for up to 4,000 images, or up to 10,000 if they are fewer than features.
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> LinearSVM:
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
        for C in candidates:
            scores = _both_sides(problem.held_out_scores(C, folds)[held_out])
            scale, likelihood = _calibrate(scores, codes[held_out])
            accuracy = float((scores.argmax(axis=1) == codes[held_out]).mean())
            results.append((accuracy, likelihood, C, scale))
        _, _, C, scale = max(results)
        return C, scale

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Signed distances to the margins, a column for each class (one-dimensional for two classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float32, np.float64), reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The label with the largest score."""
        return self.labels(self.decision_function(X))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Calibrated probabilities of the classes."""
        return self.probabilities(self.decision_function(X))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Labels of scores given by `decision_function`."""
        return self.classes_[_both_sides(scores).argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores given by `decision_function`; their order is that of the scores."""
        return softmax(self.scale_ * _both_sides(scores), axis=1)


class _Problem:
    """The rows, and the way to solve for them: by Gram matrix if images are few, else by coordinates."""

    def __init__(
        self,
        X: np.ndarray | csr_array,
        targets: np.ndarray,
        solver: str,
        tol: float,
        seed: int | None,
        n_jobs: int | None,
    ) -> None:
        self.X, self.targets, self.tol, self.seed, self.n_jobs = X, targets, tol, seed, n_jobs
        n_rows, n_features = X.shape
        few = n_rows <= _ALWAYS_GRAM or n_rows <= min(n_features, _LARGEST_GRAM)
        self.gram = _gram(X) + 1.0 if solver == "gram" or (solver == "auto" and few) else None
        if self.gram is None and not issparse(X):
            self.X = csr_array(X)

    def solve(self, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (k, d), biases and relative duality gaps on all rows."""
        if self.gram is not None:
            duals, gaps = self._newton(self.gram, self.targets, C)
            return np.asarray(self.X.T @ duals.astype(self.X.dtype)).T.copy(), duals.sum(axis=0), gaps
        weights, gaps = self._descend(self.X, self.targets, C)
        return weights[:-1].T.astype(self.X.dtype), weights[-1].copy(), gaps

    def held_out_scores(self, C: float, folds: np.ndarray) -> np.ndarray:
        """Scores of each row by a model trained without its fold; rows of fold −1 are never held out."""
        scores = np.zeros(self.targets.shape)
        for fold in range(folds.max() + 1):
            test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if self.gram is not None:
                duals, _ = self._newton(self.gram[np.ix_(train, train)], self.targets[train], C)
                scores[test] = self.gram[np.ix_(test, train)] @ duals
            else:
                weights, _ = self._descend(self.X[train], self.targets[train], C)
                scores[test] = self.X[test] @ weights[:-1] + weights[-1]
        return scores

    def _newton(self, gram: np.ndarray, targets: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
        return self._by_class(lambda part: _newton(gram, part, C, self.tol), targets)

    def _descend(self, X: csr_array, targets: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(np.float64) + 1
        return self._by_class(
            lambda part: _coordinate_descent(X, squares, part, C, self.tol, self.seed), targets
        )

    def _by_class(
        self, solver: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        n_parts = -(-targets.shape[1] // _CLASSES_AT_ONCE)
        parts = [np.ascontiguousarray(part) for part in np.array_split(targets, n_parts, axis=1)]
        results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(solver)(part) for part in parts)
        return np.hstack([r[0] for r in results]), np.concatenate([r[1] for r in results])


def _gram(X: Any) -> np.ndarray:
    """X Xᵀ in float64, columns of a sparse X made dense a block at a time."""
    if not issparse(X):
        return np.asarray(X, dtype=np.float64) @ np.asarray(X, dtype=np.float64).T
    columns, gram = X.tocsc(), np.zeros((X.shape[0], X.shape[0]))
    width = max(1, 32_000_000 // max(X.shape[0], 1))
    for start in range(0, X.shape[1], width):
        block = columns[:, start : start + width].toarray()
        gram += block @ block.T
    return gram


def _newton(gram: np.ndarray, targets: np.ndarray, C: float, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Signed duals β (n, k), f = Kβ, by finite Newton steps with conjugate gradients.

    On the rows A inside the margin the minimiser solves (K_AA + I/2C) β_A = t_A. Steps go towards it,
    halved while the objective does not fall, until the duality gap is small.
    """
    ridge = 1 / (2 * C)
    beta, scores = np.zeros_like(targets), np.zeros_like(targets)
    objective = C * (targets**2).sum(axis=0)
    gaps = np.full(targets.shape[1], np.inf)
    accuracy = 1e-2
    for _ in range(200):
        inside = targets * scores < 1
        step = (
            _conjugate_gradients(gram, inside, targets, ridge, np.where(inside, beta, 0.0), accuracy) - beta
        )
        step_scores = gram @ step
        length = np.ones(targets.shape[1])
        for _ in range(30):
            trial, trial_scores = beta + length * step, scores + length * step_scores
            trial_objective = _primal(trial, trial_scores, targets, C)
            worse = trial_objective > objective * (1 + 1e-12)
            if not worse.any():
                break
            length[worse] /= 2
        length[worse] = 0
        beta, scores = beta + length * step, scores + length * step_scores
        objective = np.where(worse, objective, trial_objective)
        # the dual point that belongs to these scores
        alpha = np.maximum(1 - targets * scores, 0) / ridge
        dual = (
            alpha.sum(axis=0)
            - ((targets * alpha) * (gram @ (targets * alpha))).sum(axis=0) / 2
            - ridge * (alpha**2).sum(axis=0) / 2
        )
        gaps = (objective - dual) / objective
        if (gaps <= tol).all():
            break
        accuracy = max(accuracy / 10, 1e-12)
    return beta, gaps


def _conjugate_gradients(
    gram: np.ndarray,
    inside: np.ndarray,
    targets: np.ndarray,
    ridge: float,
    start: np.ndarray,
    accuracy: float,
) -> np.ndarray:
    """Solve (K_AA + ridge I) β_A = t_A for each column's own set A, all columns side by side."""
    beta = start
    residual = np.where(inside, targets - gram @ beta - ridge * beta, 0.0)
    direction, energy = residual, (residual**2).sum(axis=0)
    goal = accuracy**2 * np.maximum(inside.sum(axis=0), 1)
    for _ in range(500):
        if (energy <= goal).all():
            break
        image = np.where(inside, gram @ direction + ridge * direction, 0.0)
        length = energy / np.maximum((direction * image).sum(axis=0), 1e-300)
        beta = beta + length * direction
        residual = residual - length * image
        energy, before = (residual**2).sum(axis=0), energy
        direction = residual + energy / np.maximum(before, 1e-300) * direction
    return beta


def _primal(beta: np.ndarray, scores: np.ndarray, targets: np.ndarray, C: float) -> np.ndarray:
    return (beta * scores).sum(axis=0) / 2 + C * (np.maximum(1 - targets * scores, 0) ** 2).sum(axis=0)


def _coordinate_descent(
    X: csr_array, squares: np.ndarray, targets: np.ndarray, C: float, tol: float, seed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (d + 1, k) with the bias last; rows at rest are passed over until the others are done."""
    rng = np.random.RandomState(seed)
    ridge = 1 / (2 * C)
    alphas, weights = np.zeros(targets.shape), np.zeros((X.shape[1] + 1, targets.shape[1]))
    active, slopes = np.ones(len(targets), np.bool_), np.empty(targets.shape[1])
    scores, gaps = np.empty(targets.shape), np.full(targets.shape[1], np.inf)
    rows = (X.indptr, X.indices, X.data)
    limit = np.inf
    for done in range(1, 1001):
        order = rng.permutation(np.flatnonzero(active))
        limit = kernels.dual_pass(
            *rows, targets, order, squares, ridge, alphas, weights, slopes, active, limit
        )
        if done % 10 == 0 or limit < tol or not active.any():
            kernels.scores(*rows, weights, scores)
            slack = np.maximum(1 - targets * scores, 0)
            squared_norm = (weights**2).sum(axis=0)
            primal = squared_norm / 2 + C * (slack**2).sum(axis=0)
            dual = alphas.sum(axis=0) - squared_norm / 2 - ridge * (alphas**2).sum(axis=0) / 2
            gaps = (primal - dual) / primal
            if (gaps <= tol).all():
                break
            active[:] = True
            limit = np.inf
    return weights, gaps


def _folds(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Fold of each row: 5 folds, each class dealt evenly; the only row of a class is never held out (−1).

    Of more than 5,000 rows one fold is held out, the rest (−1) always train: it is enough to calibrate on.
    """
    folds = np.empty(len(codes), np.int64)
    for c in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == c))
        folds[rows] = np.arange(len(rows)) % 5 if len(rows) > 1 else -1
    if len(codes) > 5000:
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
