import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ddlcn import DDLCNError
from ddlcn.layers.sift import DenseSIFT
from ddlcn_lab.methods.nbnn import LocalNBNN, nearest


def test_nearest():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(20, 3))
    squared, numbers = nearest(X, Y, 4)
    truth = cdist(X, Y) ** 2
    np.testing.assert_allclose(np.sort(squared), np.sort(truth)[:, :4], atol=1e-10)
    np.testing.assert_array_equal(np.sort(numbers), np.sort(np.argsort(truth)[:, :4]))


def test_totals_by_definition(pictures):
    """All clusters searched: McCann and Lowe's algorithm, descriptor by descriptor."""
    images, y, others, _ = pictures
    sift = DenseSIFT(16, 8, contrast_threshold=0.05)
    model = LocalNBNN(5, 0.7, n_lists=4, probes=4, descriptor=sift).fit(images, y)

    def described(image):
        values, positions, shape, _ = sift.describe(image)
        return np.hstack([values, 0.7 * positions / shape]).astype(float)

    parts = [described(image) for image in images]
    labels = np.repeat(y, [len(part) for part in parts])
    totals = np.zeros(5)
    for distances in cdist(described(others[0]), np.concatenate(parts)) ** 2:
        order = np.argsort(distances)
        limit = distances[order[5]]
        for c in set(labels[order[:5]]):
            totals[c] += distances[order[:5]][labels[order[:5]] == c].min() - limit
    np.testing.assert_allclose(model.decision_function(others[:1])[0], -totals, rtol=1e-3, atol=1e-5)


def test_few_probes_agree(pictures):
    images, y, others, _ = pictures
    exact, fast = (LocalNBNN(n_lists=16, probes=probes).fit(images, y).predict(others) for probes in (16, 8))
    assert np.mean(exact == fast) > 0.9


def test_invalid_probes(pictures):
    with pytest.raises(DDLCNError, match="at most n_lists"):
        LocalNBNN(n_lists=4, probes=5).fit(*pictures[:2])
