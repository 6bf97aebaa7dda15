"""The nearest atoms equal a full sort by exact distances, whatever rounding the proposed products have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.kernels import neighbors
from tests.oracles.locality import nearest


@pytest.mark.parametrize("k", [1, 15, 32, 33, 63])
@pytest.mark.parametrize("n_atoms", [63, 64, 65, 200, 1000])
@pytest.mark.parametrize("rounding", [0, 1e-6])
def test_equals_full_sort(k, n_atoms, rounding):
    rng = np.random.default_rng(k + n_atoms)
    V = rng.random((n_atoms, 12)).astype(np.float32)
    V[n_atoms // 2 : n_atoms // 2 + 5] = V[:5]  # equally near: the first comes first
    Y = np.vstack([rng.random((20, 12)), V[:3], np.zeros((1, 12))]).astype(np.float32)
    products = (Y @ V.T + rounding * rng.normal(size=(len(Y), n_atoms))).astype(np.float32)
    orders, squared = np.empty((len(Y), k), np.int64), np.empty((len(Y), k))
    neighbors.nearest(Y, V, np.einsum("ij,ij->i", V, V), products, orders, squared)
    for y, found, distances in zip(Y.astype(float), orders, squared, strict=True):
        assert_array_equal(found, nearest(y, V.astype(float), k))
        assert_allclose(distances, ((V[found].astype(float) - y) ** 2).sum(1), atol=1e-12)
