"""The solver on sparse rows; for its solutions see test_dual.py."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from ddlcn.kernels.svm import squared_norms
from ddlcn.linear.dual import Task
from ddlcn.linear.sparse import solve
from tests.linear.problems import TALL, two_classes
from tests.oracles import svm


def solution(X, signs, tol):
    task = Task(signs, np.ones(len(signs)), (1.0,), np.zeros(0, np.intp), tol, 0)
    return next(solve(X, squared_norms(X.indptr, X.data), task))


def test_single_precision():
    """Weights are as exact as the rows."""
    X, signs = two_classes(TALL, np.float32)
    found = solution(X, signs, 1e-8)
    assert found.coefficients.dtype == np.float32
    assert found.gap <= 1e-8
    truth, _ = svm.minimizer(X.astype(np.float64), signs, np.ones(len(signs)))
    assert_allclose(found.coefficients, truth, atol=1e-4)


def test_rows_of_several_blocks():
    """A block has 2²⁴ entries: 15 of these 16 rows."""
    n, d = 16, (1 << 24) // 15
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(n, d)).astype(np.float32) / np.float32(d**0.5))
    found = solution(X, np.repeat([1.0, -1.0], n // 2), 1e-6)
    assert found.gap <= 1e-6
    assert_array_equal(X @ found.coefficients + found.intercept > 0, np.arange(n) < n // 2)
