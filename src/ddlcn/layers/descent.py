"""Dual coordinate descent for one-vs-rest squared-hinge SVMs (the problem is in `svm`).

Few images: on their Gram matrix, a class at a time. Many: on their sparse rows, a few classes at a time.
Either way in rounds: passes over the variables of a class that may move, until they are calm, then a look at
all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg.blas import get_blas_funcs
from scipy.sparse import csr_array

from ddlcn.kernels import svm as kernels

_LARGEST_GRAM = 10_000  # images; 400 MB. Up to here it is the faster way, whatever the features
_SPARSE = 0.04  # share of entries below which a sparse product of the rows is the faster one
_CLASSES_AT_ONCE = 16  # a line of weights is a cache line; being fixed, it leaves answers free of n_jobs
_CALMER = 0.1  # a round ends when the worst slope has shrunk to this part
_MOST_PASSES, _MOST_ROUNDS = 100, 1000


class Problem:
    """Rows and their classes, solved by dual coordinate descent on the Gram matrix or on the sparse rows.

    `codes` are 0, 1, …; of two classes only class 1 is solved for.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, solver: str, tol: float, seed: int | None, n_jobs: int | None
    ) -> None:
        self.X, self.codes, self.tol, self.seed, self.n_jobs = csr_array(X), codes, tol, seed, n_jobs
        self.X.sort_indices()
        n_classes = codes.max() + 1
        self.classes = np.arange(n_classes) if n_classes > 2 else np.array([1])
        by_gram = solver == "gram" or (solver == "auto" and X.shape[0] <= _LARGEST_GRAM)
        self.gram = _gram(self.X, n_jobs) if by_gram else None

    def solve(self, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (k, d), biases and relative duality gaps on all rows."""
        solutions = self._for_parts(_solution, np.ones(len(self.codes), np.bool_), C, self.tol)
        alphas, gaps = (np.concatenate(arrays) for arrays in zip(*solutions, strict=True))
        if not _is_sparse(self.X):
            duals = np.where(self.codes == self.classes[:, None], alphas, -alphas)
            return _transposed_product(self.X, duals).T, duals.sum(axis=1), gaps
        weights = _weights(self.X, self.codes, self.classes, alphas)
        # column by column, as products with sparse rows read it
        return weights[:-1].astype(self.X.dtype).T, weights[-1], gaps

    def held_out_scores(self, candidates: tuple[float, ...], folds: np.ndarray) -> list[np.ndarray]:
        """For each C, scores of each row by a model trained without its fold; fold −1 is never held out."""
        found = [np.zeros((len(self.codes), len(self.classes))) for _ in candidates]
        for fold in range(folds.max() + 1):
            rows = np.flatnonzero(folds == fold)
            paths = self._for_parts(_path, folds != fold, candidates, max(self.tol, 1e-3), rows)
            for scores, of_parts in zip(found, zip(*paths, strict=True), strict=True):
                scores[rows] = np.concatenate(of_parts).T
        return found

    def _for_parts(self, do: Callable[..., Any], train: np.ndarray, *settings: Any) -> list[Any]:
        """Do something for the classes in parts of a fixed size, trained on the rows that `train` marks."""
        k = len(self.classes)
        n_parts = k if self.gram is not None else -(-k // _CLASSES_AT_ONCE)
        return Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(do)(self._descent(part, train), *settings)
            for part in np.array_split(self.classes, n_parts)
        )

    def _descent(self, classes: np.ndarray, train: np.ndarray) -> _Descent:
        if self.gram is not None:
            return _GramDescent(self.gram, self.codes, classes, train, self.seed)
        return _SparseDescent(self.X, self.codes, classes, train, self.seed, n_jobs=self.n_jobs)


def _solution(descent: _Descent, C: float, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Dual variables (k, n) and gaps."""
    gaps = descent.descend(C, tol)
    return descent.alphas, gaps


def _path(descent: _Descent, candidates: tuple[float, ...], tol: float, rows: np.ndarray) -> list[np.ndarray]:
    """For each C, the scores (k, n) of some rows; each C starts where the last ended."""
    found = []
    for C in candidates:
        descent.descend(C, tol)
        found.append(descent.scores(rows))
    return found


class _Descent(ABC):
    """Some classes at a time: their dual variables, and which of them may move."""

    n_jobs: int | None = 1

    def __init__(self, codes: np.ndarray, classes: np.ndarray, train: np.ndarray, seed: int | None) -> None:
        self.codes, self.classes, self.train = codes, classes, train
        self.targets = np.where(codes == classes[:, None], 1.0, -1.0)
        self.alphas = np.zeros(self.targets.shape)
        self.active = np.zeros(self.targets.shape, np.bool_)
        self.rngs = [np.random.RandomState(seed) for _ in classes]

    def descend(self, C: float, tol: float) -> np.ndarray:
        """Go on from where the variables are until the relative duality gap of each class is small."""
        ridge = 1 / (2 * C)
        for _ in range(_MOST_ROUNDS):
            losses, squared_norms = self.look(ridge)
            primal = squared_norms / 2 + C * losses
            dual = (self.alphas - ridge / 2 * self.alphas**2).sum(axis=1) - squared_norms / 2
            gaps = (primal - dual) / primal
            restless = np.flatnonzero(gaps > tol)
            if not len(restless):
                break
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(self._calm)(c, ridge, np.sqrt(tol)) for c in restless
            )
        return gaps

    def _calm(self, c: int, ridge: float, slope: float) -> None:
        """Pass over the active variables of a class until no slope is steep; gaps go with slopes squared."""
        step, rows = self.passes(c, ridge), np.flatnonzero(self.active[c])
        for _ in range(_MOST_PASSES):
            worst = step(self.rngs[c].permutation(rows))
            slope = max(slope, _CALMER * worst)
            if worst <= slope:
                break

    @abstractmethod
    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """The losses of all rows and the squared norms of the weights, by class; and which may move."""

    @abstractmethod
    def passes(self, c: int, ridge: float) -> Callable[[np.ndarray], float]:
        """One pass over given rows for one class, as a function of the rows."""

    @abstractmethod
    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores (k, n) of some rows after the last look."""


class _GramDescent(_Descent):
    """On the Gram matrix (with 1 added for the bias): a step changes all scores."""

    def __init__(self, gram: np.ndarray, *problem: Any) -> None:
        super().__init__(*problem)
        self.gram, self.all_scores = gram, np.zeros(self.targets.shape)

    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        slopes = self.targets * self.all_scores - 1
        self.active = self.train & ((self.alphas > 0) | (slopes < 0))
        losses = (np.minimum(slopes[:, self.train], 0) ** 2).sum(axis=1)
        return losses, (self.targets * self.alphas * self.all_scores).sum(axis=1)

    def passes(self, c: int, ridge: float) -> Callable[[np.ndarray], float]:
        state = (ridge, self.alphas[c], self.all_scores[c])
        return lambda rows: kernels.gram_pass(self.gram, self.targets[c], rows, *state)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return self.all_scores[:, rows]


class _SparseDescent(_Descent):
    """On sparse rows: a step changes the weights, the last line of which is the bias.

    A row whose slopes exceed what the weights have moved since (times its length) need not be looked at.
    Passes hold weights in the precision of the rows; looks add them up anew in float64.
    """

    def __init__(self, X: csr_array, *problem: Any, n_jobs: int | None) -> None:
        super().__init__(*problem)
        self.X, self.rows, self.n_jobs = X, (X.indptr, X.indices, X.data), n_jobs
        self.squares = kernels.squared_lengths(X.indptr, X.data) + 1
        self.weights = np.zeros((X.shape[1] + 1, len(self.classes)))
        self.margins = np.where(self.train, -np.inf, np.inf)

    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        given = (*self.rows, self.codes, self.classes)
        if not self.alphas.any():  # a first pass for all classes at once
            order = self.rngs[0].permutation(np.flatnonzero(self.train))
            weights = self.weights.astype(self.X.dtype)
            kernels.sparse_sweep(*given, order, self.squares, ridge, self.alphas, weights)
        weights = _weights(self.X, self.codes, self.classes, self.alphas)
        moved = np.linalg.norm(weights - self.weights, axis=0).max()
        self.margins -= moved * np.sqrt(self.squares)
        self.weights, near = weights, np.flatnonzero(self.margins < 0)
        losses = kernels.look(*given, near, weights, self.alphas, self.active, self.margins)
        return losses, (weights**2).sum(axis=0)

    def passes(self, c: int, ridge: float) -> Callable[[np.ndarray], float]:
        state = (self.squares, ridge, self.alphas[c], self.weights[:, c].astype(self.X.dtype))
        return lambda rows: kernels.sparse_pass(*self.rows, self.targets[c], rows, *state)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return (self.X[rows] @ self.weights[:-1] + self.weights[-1]).T


def _weights(X: csr_array, codes: np.ndarray, classes: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Σ_i t_i α_i (x_i, 1), a column for each class, in float64."""
    weights = np.zeros((X.shape[1] + 1, len(classes)))
    rows = np.flatnonzero(alphas.any(axis=0))
    kernels.combine(X.indptr, X.indices, X.data, codes, classes, rows, alphas, weights)
    return weights


def _gram(X: csr_array, n_jobs: int | None) -> np.ndarray:
    """X Xᵀ + 1 in the precision of X; of rows that are not very sparse by dense blocks, summed in order."""
    if _is_sparse(X):
        return (X @ X.T).toarray() + X.dtype.type(1)
    n_rows = X.shape[0]
    blocks = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(_block_product)(X, block) for block in _blocks(X)
    )
    gram = np.ones((n_rows, n_rows), X.dtype)
    for block in blocks:
        gram += block
    upper = np.triu_indices(n_rows, 1)
    gram.T[upper] = gram[upper]
    return gram


def _block_product(X: csr_array, columns: range) -> np.ndarray:
    """Upper triangle of the product of some columns with themselves."""
    block = _dense(X, columns)
    return get_blas_funcs("syrk", (block,))(1.0, block.T, trans=1, lower=1).T


def _transposed_product(X: csr_array, duals: np.ndarray) -> np.ndarray:
    """Xᵀ dualsᵀ in the precision of X, by dense blocks."""
    duals = duals.T.astype(X.dtype)
    return np.concatenate([_dense(X, columns).T @ duals for columns in _blocks(X)])


def _is_sparse(X: csr_array) -> bool:
    return X.nnz < _SPARSE * X.shape[0] * X.shape[1]


def _blocks(X: csr_array) -> list[range]:
    """Columns in blocks whose dense form is some 32 MB."""
    width = max(256, 8_000_000 // X.shape[0])
    return [range(X.shape[1])[start : start + width] for start in range(0, X.shape[1], width)]


def _dense(X: csr_array, columns: range) -> np.ndarray:
    """Some columns of X, whose indices are sorted, as a dense matrix."""
    block = np.zeros((X.shape[0], len(columns)), X.dtype)
    kernels.dense_columns(X.indptr, X.indices, X.data, columns.start, block)
    return block
