import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from ddlcn.layers.sift import DenseSIFT
from ddlcn_lab.methods.fisher import FisherVectors, gradients

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def mixture():
    return GaussianMixture(3, covariance_type="diag", random_state=0).fit(rng.normal(size=(200, 4)))


def slope(mixture, X, name, place, step=1e-5):
    """Central difference of the mean log-likelihood, by the definition of the mixture."""

    def mean_log_likelihood(change):
        means, spreads = mixture.means_.copy(), np.sqrt(mixture.covariances_)
        {"mean": means, "spread": spreads}[name][place] += change
        z = (X[:, None] - means) / spreads
        densities = np.exp(-0.5 * (z**2).sum(axis=2)) / np.prod(np.sqrt(2 * np.pi) * spreads, axis=1)
        return np.log(densities @ mixture.weights_).mean()

    return (mean_log_likelihood(step) - mean_log_likelihood(-step)) / (2 * step)


def test_gradients_of_log_likelihood(mixture):
    """The slope, times the inverse root of its Fisher information: σ²/w for a mean, σ²/(2w) for a deviation."""
    X = rng.normal(size=(20, 4))
    found = gradients(X, mixture.predict_proba(X), mixture).reshape(2, 3, 4)
    for place in np.ndindex(3, 4):
        spread, weight = np.sqrt(mixture.covariances_[place]), mixture.weights_[place[0]]
        by_mean = slope(mixture, X, "mean", place) * spread / np.sqrt(weight)
        by_spread = slope(mixture, X, "spread", place) * spread / np.sqrt(2 * weight)
        np.testing.assert_allclose(found[(slice(None), *place)], [by_mean, by_spread], atol=1e-6)


def test_no_descriptors(mixture):
    assert not gradients(np.empty((0, 4)), np.empty((0, 3)), mixture).any()


def test_rows(pictures):
    model = FisherVectors(4, 8, levels=(1, 2), descriptor=DenseSIFT(8, 4)).fit(pictures[0])
    rows = model.transform(pictures[0][:3])
    assert rows.shape == (3, 5 * 2 * 4 * 8)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    values = model.pca_.transform(model.descriptor_.describe(pictures[0][0]).values.astype(float))
    whole = gradients(values, model.mixture_.predict_proba(values), model.mixture_)  # the first cell is the image
    part = np.sign(whole) * np.sqrt(np.abs(whole))
    np.testing.assert_allclose(rows[0, :64], part / np.linalg.norm(part) / np.sqrt(5), atol=1e-5)
