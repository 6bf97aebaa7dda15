import numpy as np
from scipy.ndimage import correlate
from sklearn.cluster import KMeans

from ddlcn_lab.methods import clustering
from ddlcn_lab.methods.clustering import ClusteredFilters, convolutional_kmeans, respond


def _planted(shapes, n, rng):
    """Windows of 9 × 9 with one of the 5 × 5 shapes at any place."""
    windows = rng.normal(scale=0.01, size=(n, 9, 9, 1))
    for window in windows:
        y, x = rng.integers(0, 5, size=2)
        window[y : y + 5, x : x + 5, 0] += shapes[rng.integers(len(shapes))]
    return windows


def test_better_than_kmeans():
    rng = np.random.default_rng(0)
    lines, columns = np.mgrid[:5, :5] - 2
    shapes = [1.0 * (lines == columns), 1.0 * (lines == 0), 1.0 * (np.abs(lines) + np.abs(columns) == 2)]
    windows = _planted(shapes, 600, rng)
    places = [clustering._patches(window, 5) for window in windows]
    ours = convolutional_kmeans(windows, 6, 5, 15, rng)
    peer = KMeans(6, n_init=1, random_state=0).fit([each[len(each) // 2] for each in places])
    theirs = peer.cluster_centers_ / np.linalg.norm(peer.cluster_centers_, axis=1, keepdims=True)
    fits = [np.mean([(each @ filters.T).max() for each in places]) for filters in (ours, theirs)]
    assert fits[0] > fits[1] + 0.1  # k-means in the middle spends its filters on shifts
    assert fits[0] > 0.85


def test_responses_by_definition():
    rng = np.random.default_rng(0)
    image, kernel = rng.uniform(size=(8, 10)), rng.normal(size=(3, 3))
    total = correlate(image, np.ones((3, 3)), mode="nearest")
    squares = correlate(image**2, np.ones((3, 3)), mode="nearest")
    length = np.sqrt(np.maximum(squares - total**2 / 9, 0))
    plain = correlate(image, kernel, mode="nearest") - kernel.sum() * total / 9
    expected = np.maximum(plain / (length + 0.1), 0).reshape(4, 2, 5, 2).max(axis=(1, 3))
    found = respond(image[:, :, None], kernel.reshape(1, 9), 3)[:, :, 0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_row_of_both_layers(pictures):
    model = ClusteredFilters((4, 6), passes=2).fit(pictures[0])
    rows = model.transform(pictures[0][:3])
    assert rows.shape == (3, 16 * 10)
    first = model._maps(pictures[0][0])[1]  # 16 × 16 pixels, so cells of 4 × 4
    cells = first.reshape(4, 4, 4, 4, 4).max(axis=(1, 3)).ravel()
    own = rows[0][: len(cells)]
    np.testing.assert_allclose(own / np.linalg.norm(own), cells / np.linalg.norm(cells), atol=1e-6)
