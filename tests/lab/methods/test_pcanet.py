import numpy as np
import pytest
from scipy.ndimage import correlate
from sklearn.decomposition import PCA

from ddlcn_lab.kernels.filters import chi_square_distances
from ddlcn_lab.methods.pcanet import PCANet


def _histograms(grey, filters, block):
    """Counts in blocks, straight from the definition: (groups, blocks, codes)."""
    maps = [grey] if len(filters) == 1 else [correlate(grey, f, mode="constant") for f in filters[0]]
    out = []
    for each in maps:
        bits = np.stack([correlate(each, f, mode="constant") > 0 for f in filters[-1]])
        codes = np.tensordot(2 ** np.arange(len(bits)), bits, 1)
        for top in range(0, codes.shape[0] - block + 1, block):
            for left in range(0, codes.shape[1] - block + 1, block):
                cell = codes[top : top + block, left : left + block]
                out.append(np.bincount(cell.ravel(), minlength=2 ** len(bits)))
    return np.array(out)


@pytest.mark.parametrize("stages", [1, 2])
def test_nearest_in_chi_square(pictures, stages):
    images, labels, others, _ = pictures
    model = PCANet(stages, n_filters=4, filter_size=3).fit(images, labels)
    grey = model.pixels_.images
    train = [_histograms(g.astype(float), model.filters_, 8) for g in grey(images)]
    for image in others[:6]:
        own = _histograms(grey([image])[0].astype(float), model.filters_, 8)
        distances = [((own - h) ** 2 / np.maximum(own + h, 1)).sum() for h in train]
        assert model.predict([image]) == labels[np.argmin(distances)]


def test_filters_are_principal_components(pictures):
    images = pictures[0]
    model = PCANet(1, n_filters=4, filter_size=3).fit(images, pictures[1])
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2)).reshape(-1, 9)
    windows = windows - windows.mean(axis=1, keepdims=True)
    peer = PCA(4).fit(np.concatenate([windows, -windows])).components_  # mirrored: the mean is zero
    overlap = np.abs(np.einsum("ij,ij->i", peer, model.filters_[0].reshape(4, 9)))
    np.testing.assert_allclose(overlap, 1, atol=1e-4)


def test_chi_square():
    dense = np.array([[3, 1, 0, 0]], np.uint8)
    a = np.arange(5.0)
    table = (4 * np.outer(a, a) / np.maximum(a[:, None] + a, 1) * 2**20).round().astype(np.int64)
    bins, counts = np.array([0, 2], np.uint8), np.array([1, 3], np.uint8)
    found = chi_square_distances(dense, bins, counts, np.array([0]), np.array([[0, 2]]), table, 2.0**-20)
    np.testing.assert_allclose(found, [4 / 4 + 1 + 3], rtol=1e-6)
