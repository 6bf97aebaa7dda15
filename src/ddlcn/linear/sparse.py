"""The SVM solved on sparse rows: the faster way if rows are many and short.

A step changes the weights of its class. Inactive variables are skipped as long as the weights have moved less
than the slope of the variable allows. Epochs hold the weights in the precision of the rows; at the end of a
round they are computed again from the dual variables, in float64.

Rows may be larger than memory. The first epoch and the scoring of all rows go through them in order, block by
block; all other epochs use active rows only.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from ddlcn.kernels import svm as kernels
from ddlcn.linear.dual import MAX_ROUNDS, Solution, Task, ridge_of

_BLOCK_ENTRIES = 1 << 24


def solve(X: csr_array, squared_norms: np.ndarray, task: Task) -> Iterator[Solution]:
    """Solve for one class on canonical rows with these squared norms; a solution for each C."""
    signs, weights, grid, scored, tol, seed = task
    rows, rng, train = (X.indptr, X.indices, X.data), np.random.RandomState(seed), np.flatnonzero(weights > 0)
    block = max(1, _BLOCK_ENTRIES * X.shape[0] // max(X.nnz, 1))
    alphas, w, losses = np.zeros(X.shape[0]), np.zeros(X.shape[1] + 1), weights.sum()
    active, norms = np.zeros(X.shape[0], np.bool_), np.sqrt(squared_norms + 1)
    margins = np.where(weights > 0, -np.inf, np.inf).astype(np.float32)
    for C in grid:
        ridge = ridge_of(C * weights)
        for _ in range(MAX_ROUNDS):
            gap = relative_gap(C * losses, float(w @ w), alphas, ridge)
            if gap <= tol:
                break
            rough = w.astype(X.dtype)
            epoch = partial(kernels.sparse_epoch, *rows, signs, squared_norms, ridge, alphas, rough)
            if active.any():
                run_epochs(epoch, np.flatnonzero(active), rng, tol)
            else:
                for start in range(0, len(train), block):
                    epoch(rng.permutation(train[start : start + block]))
            before, w = w, kernels.weights_of_duals(*rows, signs * alphas, len(w))
            margins -= np.linalg.norm(w - before) * norms
            losses = kernels.update_active_set(*rows, signs, weights, w, alphas, active, margins)
        yield Solution(w[:-1].astype(X.dtype), float(w[-1]), gap, X[scored] @ w[:-1] + w[-1])


def relative_gap(losses: float, squared_norm: float, alphas: np.ndarray, ridge: np.ndarray) -> float:
    """(P − D) / P for Σ_i C_i loss_i, ‖w‖² + b² and the dual variables."""
    primal = squared_norm / 2 + losses
    dual = alphas.sum() - ridge @ alphas**2 / 2 - squared_norm / 2
    return float((primal - dual) / primal)


def run_epochs(epoch: Callable[[np.ndarray], float], rows: np.ndarray, rng: np.random.RandomState, tol: float) -> None:
    """Run epochs over rows in random orders until the largest slope is small; gaps go with its square."""
    slope = np.sqrt(tol)
    for _ in range(kernels.MAX_EPOCHS):
        worst = epoch(rng.permutation(rows))
        slope = max(slope, kernels.ROUND_ENDS * worst)
        if worst <= slope:
            break
