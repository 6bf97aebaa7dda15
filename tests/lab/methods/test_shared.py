"""What several methods share, against loops."""

import numpy as np

from ddlcn.layers.coding import Codes
from ddlcn_lab.methods.shared import cell_sums, kmeans_centres, rows_of_images


def test_rows_in_the_order_of_images():
    images = np.arange(40.0).reshape(10, 2, 2)
    for n_jobs in (1, 3):
        found = rows_of_images(lambda image: image.ravel() ** 2, images, n_jobs, "Squares")
        np.testing.assert_array_equal(found, images.reshape(10, 4) ** 2)


def test_kmeans_centres():
    """Of clusters that are far apart; never more centres than rows."""
    rng, truth = np.random.default_rng(0), np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    Y = np.repeat(truth, 50, axis=0) + rng.normal(size=(150, 2))
    found = kmeans_centres(Y, 3, 0, "Clusters")
    np.testing.assert_allclose(found[np.lexsort(found.round(-1).T)], truth[np.lexsort(truth.T)], atol=1)
    assert len(kmeans_centres(Y[:2], 5, 0, "Clusters")) == 2


def test_cell_sums():
    rng, (n, k, n_levels, n_cells, n_atoms) = np.random.default_rng(0), (20, 3, 2, 5, 7)
    indices = np.stack([rng.permutation(n_atoms)[:k] for _ in range(n)])
    codes, cells = Codes(indices, rng.normal(size=(n, k))), rng.integers(n_cells, size=(n, n_levels))
    weights, wanted = np.array([0.5, 2.0]), np.zeros((2, n_cells, n_atoms))
    for i in range(n):
        for level in range(n_levels):
            for j in range(k):
                value = codes.values[i, j]
                wanted[:, cells[i, level], indices[i, j]] += value, weights[level] * value
    np.testing.assert_allclose(cell_sums(codes, cells, n_cells, n_atoms), wanted[0])
    np.testing.assert_allclose(cell_sums(codes, cells, n_cells, n_atoms, weights), wanted[1])
