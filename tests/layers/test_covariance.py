"""Covariance pooling against SciPy's matrix logarithm; whitening; evidence that adds up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import logm

from ddlcn.layers.covariance import LogCovariance
from ddlcn.layers.patches import Descriptors

SHAPE = (40, 60)


def image(seed, n=200, n_features=6, rank=None):
    """Descriptors at random places, correlated; of less than full rank if told so."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, rank or n_features)) @ rng.standard_normal((rank or n_features, n_features))
    positions = rng.uniform(0, SHAPE, (n, 2))
    return Descriptors(values.astype(np.float32), positions.astype(np.float32), SHAPE, np.full(n, 16, np.int32))


def whitened_moment(own, P):
    x = np.column_stack([own.values, own.positions / SHAPE, np.ones(len(own.values))])
    return sum(np.outer(z, z) for z in x @ P.T.astype(np.float64)) / len(x)


@pytest.fixture
def training():
    return [image(seed) for seed in range(8)]


def whitening(pooling, images):
    return pooling.whitening(np.mean([pooling.moment(each) for each in images], axis=0), len(images[0].values))


def test_mean_of_whitened_moments_is_the_identity(training):
    P = whitening(LogCovariance(), training)
    assert P.shape == (9, 9)  # six features, position and 1
    assert_allclose(np.mean([whitened_moment(each, P) for each in training], axis=0), np.eye(9), atol=1e-4)
    assert whitening(LogCovariance(4), training).shape == (4, 9)


def test_few_patches_have_few_components(training):
    """Two for each patch of a cell."""
    moment = np.mean([LogCovariance.moment(each) for each in training], axis=0)
    for side, n_patches, expected in ((1, 3, 6), (1, 200, 9), (3, 200, 9), (3, 30, 6), (3, 2, 1)):
        assert LogCovariance(side=side).whitening(moment, n_patches).shape == (expected, 9)


@pytest.mark.parametrize(("n", "epsilon", "contrast"), [(200, 0.1, 1), (200, 1.0, 1), (5, 0.1, 1), (5, 1e-4, 30)])
def test_logarithm_of_the_covariance(training, n, epsilon, contrast):
    """Also of an image with fewer patches than components, and of one far from the training images."""
    pooling, own = LogCovariance(epsilon=epsilon), image(99, n)
    own = own._replace(values=contrast * own.values)
    P = whitening(pooling, training)
    S = whitened_moment(own, P)
    expected = logm((S + epsilon * np.eye(len(S))) / (1 + epsilon)).real
    expected = np.array([expected[i, j] * (1 if i == j else 2**0.5) for i in range(len(S)) for j in range(i, len(S))])
    assert_allclose(pooling.pool([own], P)[0], expected / np.linalg.norm(expected), atol=2e-5)


def test_inner_products_are_those_of_matrices(training):
    pooling, others = LogCovariance(), [image(98), image(99)]
    P = whitening(pooling, training)
    logs = [logm((whitened_moment(each, P) + 0.1 * np.eye(9)) / 1.1).real for each in others]
    expected = np.trace(logs[0] @ logs[1]) / np.linalg.norm(logs[0]) / np.linalg.norm(logs[1])
    assert_allclose(np.dot(*pooling.pool(others, P)), expected, atol=1e-5)


@pytest.mark.parametrize("n", [200, 5])
def test_grid_of_cells(training, n):
    """Each cell has the logarithm of its own patches, of unit length; of few patches, some cells have none."""
    pooling, whole, own = LogCovariance(side=3), LogCovariance(), image(99, n)
    P = whitening(pooling, training)
    rows, columns = (np.minimum(np.ceil((own.positions[:, i] + 1) / (SHAPE[i] / 3)) - 1, 2) for i in (0, 1))
    found, n_used = pooling.pool([own], P)[0].reshape(9, -1), len(set(3 * rows + columns))
    assert n == 200 or n_used < 9
    for cell in range(9):
        inside = 3 * rows + columns == cell
        part = Descriptors(own.values[inside], own.positions[inside], SHAPE, own.sizes[inside])
        expected = whole.pool([part], P)[0] / n_used**0.5 if inside.any() else 0
        assert_allclose(found[cell], expected, atol=1e-6)


@pytest.mark.parametrize("side", [1, 3])
@pytest.mark.parametrize(("n", "contrast"), [(200, 1), (5, 1), (1, 1), (20, 100)])
def test_shares_add_up(training, n, contrast, side):
    pooling, own = LogCovariance(side=side), image(99, n)
    P, coef = whitening(pooling, training), np.random.default_rng(0).standard_normal(45 * side**2)
    own = own._replace(values=contrast * own.values)
    shares = pooling.shares(own, P, coef)
    assert shares.shape == (n,)
    assert_allclose(shares.sum(), coef @ pooling.pool([own], P)[0], atol=2e-5)
    assert n == 1 or np.ptp(shares) > 1e-4


def test_share_of_patches_that_are_alone():
    """Where patches have no component in common, the share of each is that of its own component."""
    pooling, values = LogCovariance(), np.diag([3.0, 1.0]).astype(np.float32)
    own = Descriptors(values, np.zeros((2, 2), np.float32), SHAPE, np.full(2, 16, np.int32))
    P = np.eye(2, 5, dtype=np.float32)  # the two features, and nothing of positions and 1
    logs = np.log((np.array([9 / 2, 1 / 2]) + 0.1) / 1.1)
    shares = pooling.shares(own, P, np.array([1.0, 0.0, 0.0]))
    at_zero = np.log(0.1 / 1.1)
    expected = [logs[0] - at_zero / 2, at_zero / 2]  # what a variance of 0 has is shared by all patches
    assert_allclose(shares, np.array(expected) / np.linalg.norm(logs), atol=1e-6)


def test_features_that_never_vary(training):
    """Fewer components than numbers; a blank image still has a row."""
    flat = [each._replace(values=np.where([1, 1, 0, 0, 1, 1], each.values, np.float32(0))) for each in training]
    flat[0] = flat[0]._replace(values=np.zeros_like(flat[0].values))
    pooling = LogCovariance()
    P = whitening(pooling, flat)
    assert P.shape == (7, 9)
    found = pooling.pool(flat[:1], P)[0]
    assert np.isfinite(found).all()
    assert_allclose(np.linalg.norm(found), 1, atol=1e-5)


@pytest.mark.parametrize("side", [1, 3])
def test_images_with_different_numbers_of_patches(training, side):
    """Together or alone: the same bytes."""
    pooling, others = LogCovariance(side=side), [image(seed, n) for seed, n in enumerate((30, 30, 5, 30, 200, 5))]
    P = whitening(pooling, training)
    together = pooling.pool(others, P)
    for own, row in zip(others, together, strict=True):
        assert_array_equal(pooling.pool([own], P)[0], row)


def test_mean_image_has_nothing_to_tell():
    """Where images are all the same, rounding decides nothing."""
    pooling, own = LogCovariance(), image(0)
    P, coef = whitening(pooling, [own] * 3), np.ones(45)
    assert not pooling.pool([own], P)[0].any()
    assert not pooling.shares(own, P, coef).any()


def test_features_that_vary_by_rounding_only(training):
    noise = np.random.default_rng(0).normal(0, 1e-8, (200, 1)).astype(np.float32)
    tiny = [each._replace(values=np.where([1, 1, 0, 1, 1, 1], each.values, noise)) for each in training]
    P = whitening(LogCovariance(), tiny)
    assert P.shape == (8, 9)
    assert not P[:, 2].any()
    assert np.abs(P).max() < 100
