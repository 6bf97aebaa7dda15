"""LinearSVM against scikit-learn's LinearSVC at the same relative duality gap, one thread each.

Both solve the same problem, bias included. We solve to a gap of 1e-6, certified; LinearSVC, which gives no
dual point, gets the loosest `tol` whose answer lies no more than 1e-6 above the best dual value known, and
the faster of its two solvers. Only solving is timed: our folds for calibration are left out.
"""

from __future__ import annotations

from functools import partial
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from benchmarks.data import task
from benchmarks.measure import Row, race, spell, timed
from ddlcn import DDLCNClassifier
from ddlcn.blas import one_blas_thread
from ddlcn.kernels.svm import squared_norms
from ddlcn.linear import gram, sparse
from ddlcn.linear.dual import Problem

C, GAP = 1.0, 1e-6


def rows(quick: bool) -> list[Row]:
    """Rows of two real models of the paper's settings."""
    faces = task("yaleb")[0]
    digits = task("mnist", n_images=5_000 if quick else None)[0]
    return [
        _compare("Extended Yale B 15-15", faces, 15, "≥ 20 ×", 0 if quick else 3),
        _compare("MNIST 100-100", digits, 100, "≥ 4 ×", 0),
    ]


def _compare(what: str, images: Any, p: int, target: str, repeats: int) -> Row:
    model = DDLCNClassifier(images_per_class=p, atoms_per_class=p, preset="paper", n_jobs=2)
    X = model.fit(images.images, images.target).transform(images.images)
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)  # LinearSVC takes no other
    targets = np.where(images.target[:, None] == np.arange(len(images.target_names)), 1.0, -1.0)
    _ours(X[::20], images.target[::20], GAP)  # compiles
    weights, biases, gaps = _ours(X, images.target, GAP / 10)
    dual = _primal(X, targets, weights, biases) * (1 - gaps)
    peer, limit = _loosest(X, images.target, targets, dual, True, np.inf)
    peer = _loosest(X, images.target, targets, dual, False, limit)[0] or peer
    seconds, theirs = race(lambda: _ours(X, images.target, GAP), lambda: peer.fit(X, images.target), repeats=repeats)
    solver = f"LinearSVC, {'dual' if peer.dual else 'primal'}, tol = {peer.tol:.0e}"
    name = f"SVM, {what}, {X.shape[0]:,} images, {targets.shape[1]} classes, gap 1e-6 / {solver}"
    return Row(name, spell(seconds), spell(theirs), theirs / seconds, target)


def _ours(X: csr_array, y: np.ndarray, gap: float) -> tuple[np.ndarray, ...]:
    """Weights, biases and gaps; on the Gram matrix or on sparse rows, as `LinearSVM` would."""
    n_classes, ones, by_gram = y.max() + 1, np.ones(len(y)), len(y) <= min(10_000, 4 * X.nnz / len(y))
    with one_blas_thread():
        if by_gram:
            solver = partial(gram.solve, gram.gram_matrix(X, 1))
        else:
            solver = partial(sparse.solve, X, squared_norms(X.indptr, X.data))
        found, biases, gaps = Problem(solver, y, n_classes, ones, 0, 1).solve(C, gap)
        return (gram.transposed_product(X, found, 1) if by_gram else found).T, biases, gaps


def _primal(X: csr_array, targets: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    weights = weights.astype(np.float64)
    slack = np.maximum(1 - targets * (X @ weights.T + biases), 0)
    return ((weights**2).sum(axis=1) + biases**2) / 2 + C * (slack**2).sum(axis=0)


def _loosest(
    X: csr_array, y: np.ndarray, targets: np.ndarray, dual: np.ndarray, way: bool, limit: float
) -> tuple[LinearSVC | None, float]:
    """The first of ever tighter LinearSVCs whose every class reaches the gap, and its seconds.

    None if one takes longer than `limit` before that.
    """
    for tol in 10.0 ** np.arange(-1.5, -8, -0.5):
        model = LinearSVC(C=C, dual=way, tol=tol, max_iter=100_000, random_state=0)
        _, seconds = timed(partial(model.fit, X, y), process_time)
        if seconds > limit:
            break
        primal = _primal(X, targets, model.coef_, model.intercept_)
        if ((primal - dual) / primal).max() <= GAP:
            return model, seconds
    return None, limit
