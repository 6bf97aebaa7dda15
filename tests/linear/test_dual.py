"""The duality gap, the solvers of one problem, and a problem of several classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.kernels.svm import shuffle, squared_norms, xorshift_state
from ddlcn.linear import gram, sparse
from ddlcn.linear.dual import Task, ridge_of
from ddlcn.linear.sparse import relative_gap
from tests.linear.problems import TALL, WIDE, two_classes
from tests.oracles import svm


def by_gram(X, task):
    """Solve on a Gram matrix, which stays as it is; its coefficients are those of rows."""
    products = gram.gram_matrix(X)
    found = list(gram.solve(products, task))
    assert_array_equal(products, gram.gram_matrix(X))
    return [each._replace(coefficients=X.T @ each.coefficients) for each in found]


def by_rows(X, task):
    return list(sparse.solve(X, squared_norms(X.indptr, X.data), task))


each_solver = pytest.mark.parametrize("solver", [by_gram, by_rows])


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("shape", [WIDE, TALL])
@each_solver
def test_solver_is_optimal(solver, shape, C):
    """Against a quasi-Newton method on the primal problem."""
    X, signs = two_classes(shape)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(signs))
    [found] = solver(X, Task(signs, weights, (C,), np.arange(len(signs)), 1e-10, 0))
    w, b = svm.minimizer(X, signs, C * weights)
    assert found.gap <= 1e-10
    assert_allclose(found.coefficients, w, atol=1e-4)
    assert_allclose(found.intercept, b, atol=1e-4)
    assert_allclose(found.scores, X @ found.coefficients + found.intercept, atol=1e-9)


@each_solver
def test_path_equals_single_solutions(solver):
    X, signs = two_classes(TALL)
    grid, task = (0.1, 1.0, 10.0), Task(signs, np.ones(len(signs)), (0.1, 1.0, 10.0), np.array([4, 2]), 1e-10, 0)
    for C, found in zip(grid, solver(X, task), strict=True):
        [alone] = solver(X, task._replace(grid=(C,)))
        assert_allclose(found.coefficients, alone.coefficients, atol=1e-4)
        assert_allclose(found.scores, alone.scores, atol=1e-4)


def test_relative_gap():
    X, signs = two_classes(WIDE)
    rng = np.random.default_rng(0)
    costs, alphas = rng.uniform(0.1, 9, len(signs)), rng.uniform(0, 0.2, len(signs))
    w, b = X.T @ (signs * alphas), signs @ alphas
    losses = (costs * np.maximum(0, 1 - signs * (X @ w + b)) ** 2).sum()
    primal, dual = svm.primal(X, signs, w, b, costs), svm.dual(X, signs, alphas, costs)
    assert_allclose(relative_gap(losses, w @ w + b * b, alphas, ridge_of(costs)), (primal - dual) / primal)


@pytest.mark.parametrize("tol", [0.3, 0.01])
def test_gap_of_the_gram_solver(tol):
    """The gap that it gives is that of its dual variables."""
    X, signs = two_classes(WIDE)
    weights = np.random.default_rng(0).choice([0.5, 2.0], size=len(signs))
    [found] = gram.solve(gram.gram_matrix(X), Task(signs, weights, (3.0,), np.zeros(0, np.intp), tol, 0))
    w, alphas = X.T @ found.coefficients, signs * found.coefficients
    primal = svm.primal(X, signs, w, found.intercept, 3.0 * weights)
    assert_allclose(found.gap, 1 - svm.dual(X, signs, alphas, 3.0 * weights) / primal, rtol=1e-6)
    assert 0 < found.gap <= tol


def test_rows_without_weight():
    """Of nothing but rows that do not train the solution is zero."""
    [found] = gram.solve(np.eye(3), Task(np.ones(3), np.zeros(3), (1.0,), np.arange(3), 1e-3, 0))
    assert (found.gap, found.intercept, found.scores.tolist()) == (0.0, 0.0, [0, 0, 0])


@pytest.mark.parametrize("seed", [0, 1, np.int64(3), 2**32 - 1])
def test_shuffle(seed):
    """The first rows come into random orders, all equally often; other seeds give other orders."""
    state, orders = xorshift_state(seed), []
    for _ in range(2400):
        rows = np.arange(6)
        shuffle.py_func(rows, 4, state)
        assert rows[4:].tolist() == [4, 5]
        orders.append(tuple(rows[:4]))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert counts.min() > 60  # of about 100
    other, rows = xorshift_state(int(seed) + 1), [np.arange(50), np.arange(50)]
    for state, each in zip((xorshift_state(seed), other), rows, strict=True):
        shuffle.py_func(each, 50, state)
    assert (rows[0] != rows[1]).any()
