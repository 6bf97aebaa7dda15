import numpy as np

from ddlcn.baselines.codebook import CodebookFeatures, MeanPyramid
from ddlcn.baselines.coders import KernelCoder, LassoCoder
from ddlcn.layers.coding import Codes


def test_mean_pyramid_is_the_mean_of_dense_codes():
    rng = np.random.default_rng(0)
    dense = rng.uniform(size=(30, 6)).astype(np.float32)
    codes = Codes(np.tile(np.arange(6, dtype=np.int32), (30, 1)), dense)
    positions = rng.uniform(0, 20, size=(30, 2))
    pyramid = MeanPyramid((1, 2))
    mean, _ = pyramid.pool(codes, positions, (20, 20), 6)
    cells = pyramid.cells(positions, (20, 20))
    for cell in range(5):
        inside = (cells == cell).any(axis=1)
        expected = dense[inside].mean(axis=0) if inside.any() else np.zeros(6)
        np.testing.assert_allclose(mean[cell], expected, rtol=1e-5)


def test_scspm_feature_is_the_maximum_of_absolute_codes(pictures):
    images = pictures[0][:10]
    model = CodebookFeatures(20, LassoCoder(0.1, absolute=True)).fit(images)
    descriptors = model.descriptor_.transform(images[0], model.value_range_)
    x = np.abs(LassoCoder(0.1).encode(descriptors.values, model.atoms_).dense(20))
    cells = model.network_.pyramid.cells(descriptors.positions, descriptors.shape)
    expected = np.zeros((21, 20))
    for code, places in zip(x, cells, strict=True):
        expected[places] = np.maximum(expected[places], code)
    row = model.transform(images[:1]).toarray().ravel()
    np.testing.assert_allclose(row, expected.ravel() / np.linalg.norm(expected), atol=1e-5)


def test_any_number_of_jobs_gives_the_same_rows(pictures):
    features = [
        CodebookFeatures(16, KernelCoder(), MeanPyramid(), n_jobs=n).fit_transform(pictures[0]).toarray()
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*features)
