"""Dual coordinate descent for one-vs-rest squared-hinge SVMs (the problem is in `svm`).

Few images: on their Gram matrix, a class at a time. Many: on their sparse rows, a few classes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg.blas import get_blas_funcs
from scipy.sparse import csr_array

from ddlcn.kernels import svm as kernels

_LARGEST_GRAM = 10_000  # images; 400 MB. Up to here it is the faster way, whatever the features
_SPARSE = 0.04  # share of entries below which a sparse product of the rows is the faster one
_CLASSES_AT_ONCE = 8  # fills a vector register and, being fixed, makes answers the same on any number of jobs


class Problem:
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
