"""Products of sparse rows against dense ones; for the solver see test_dual.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from ddlcn.linear.gram import gram_matrix, product, transposed_product

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def mixed(n, n_light, n_heavy, dtype=np.float32, seed=0):
    """Columns that few rows have among columns that many have."""
    rng = np.random.default_rng(seed)
    columns = ((n_light, 0.1), (n_heavy, 0.4))
    parts = [sparse.random_array((n, width), density=density, rng=rng) for width, density in columns]
    X = sparse.hstack(parts, format="csc")[:, rng.permutation(n_light + n_heavy)]
    return sparse.csr_array(X.astype(dtype))


@each_dtype
@pytest.mark.parametrize("shape", [(1, 3, 0), (40, 0, 9), (40, 300, 0), (300, 100, 100), (700, 16_000, 6_500)])
def test_gram_matrix(shape, dtype):
    """From one row to many blocks of columns, listed and dense."""
    X = mixed(*shape, dtype)
    found, dense = gram_matrix(X, 2), X.toarray().astype(np.float64)
    assert found.dtype == dtype
    assert_allclose(found, dense @ dense.T, rtol=2e-5 if dtype == np.float32 else 1e-12)
    assert_array_equal(found, found.T)
    for n_jobs in (None, 3):
        assert_array_equal(gram_matrix(X, n_jobs), found)


def test_gram_matrix_of_some_rows():
    X, rows = mixed(300, 200, 50), np.arange(5, 300, 7)
    assert_array_equal(gram_matrix(X, rows=rows), gram_matrix(X[rows]))


@pytest.mark.parametrize(("start", "stop"), [(0, 250), (0, 90), (60, 190), (7, 7)])
def test_gram_matrix_of_some_columns(start, stop):
    X, rows = mixed(300, 200, 50), np.arange(5, 300, 7)
    found = gram_matrix(X, 2, rows, slice(start, stop))
    dense = X.toarray()[rows, start:stop].astype(np.float64)
    assert_allclose(found, dense @ dense.T, rtol=2e-5, atol=1e-6)


def test_gram_matrix_of_unordered_entries():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 2, 3])), shape=(2, 3))
    assert gram_matrix(X).tolist() == [[5, 6], [6, 9]]
    assert X.indices.tolist() == [2, 0, 0]


@each_dtype
def test_empty_matrix(dtype):
    X = sparse.csr_array((30, 50), dtype=dtype)
    assert_array_equal(gram_matrix(X), np.zeros((30, 30), dtype))
    assert_array_equal(transposed_product(X, np.ones((30, 2))), np.zeros((50, 2), dtype))


@each_dtype
@pytest.mark.parametrize("width", [1, 3, 40])
def test_transposed_product(width, dtype):
    X, B = mixed(600, 16_000, 1_000, dtype), np.random.default_rng(0).normal(size=(600, width))
    found = transposed_product(X, B, 2)
    assert found.dtype == dtype
    assert_allclose(found, X.T @ B, atol=1e-4 if dtype == np.float32 else 1e-12)
    assert_array_equal(transposed_product(X, B, 1), found)


@pytest.mark.parametrize("width", [1, 300])
def test_product(width):
    X, B = mixed(50, 5_000, 500), np.random.default_rng(0).normal(size=(5_500, width)).astype(np.float32)
    found = product(X, B)
    assert_allclose(found, X @ B, atol=1e-3)
    assert_array_equal(np.concatenate([product(X[i : i + 1], B) for i in range(50)]), found)
