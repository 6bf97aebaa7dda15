import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import Lasso

from ddlcn import DDLCNError
from ddlcn.baselines.coders import KernelCoder, LassoCoder
from ddlcn.kernels.sparse_codes import lasso_codes

rng = np.random.default_rng(0)
ATOMS = rng.normal(size=(60, 20)) / np.sqrt(20)
SAMPLES = rng.normal(size=(15, 20))


@pytest.mark.parametrize("penalty", [0.001, 0.05, 0.5, 50.0])
def test_lasso_meets_its_optimality_conditions(penalty):
    gram = ATOMS @ ATOMS.T
    x = lasso_codes(gram, SAMPLES @ ATOMS.T, penalty, 21)
    slope = SAMPLES @ ATOMS.T - x @ gram
    assert np.abs(slope).max() <= penalty + 1e-9
    np.testing.assert_allclose(slope[x != 0], penalty * np.sign(x[x != 0]), atol=1e-9)


def test_lasso_agrees_with_scikit_learn():
    peer = Lasso(alpha=0.1 / 20, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(ATOMS.T, SAMPLES.T)
    ours = LassoCoder(penalty=0.1).encode(SAMPLES, ATOMS).dense(60)
    np.testing.assert_allclose(ours, peer.coef_, atol=1e-5)


def test_absolute_codes_are_what_scspm_pools():
    codes = LassoCoder(penalty=0.1).encode(SAMPLES, ATOMS).dense(60)
    np.testing.assert_array_equal(
        LassoCoder(penalty=0.1, absolute=True).encode(SAMPLES, ATOMS).dense(60), np.abs(codes)
    )


def test_kernel_codes_are_shares_of_gaussians():
    shares = np.exp(-(cdist(SAMPLES, ATOMS) ** 2) / (2 * 0.7**2))
    expected = shares / shares.sum(axis=1, keepdims=True)
    codes = KernelCoder(width=0.7, n_neighbors=60).encode(SAMPLES, ATOMS)
    np.testing.assert_allclose(codes.dense(60), expected, atol=1e-6)


@pytest.mark.parametrize("coder", [LassoCoder(penalty=0), KernelCoder(width=0), KernelCoder(n_neighbors=0)])
def test_senseless_parameters_are_named(coder):
    with pytest.raises(DDLCNError, match="must be"):
        coder.encode(SAMPLES, ATOMS)


def test_refining_lowers_the_lasso_objective():
    def objective(atoms):
        x = lasso_codes(atoms @ atoms.T, SAMPLES @ atoms.T, 0.1, 21)
        return 0.5 * np.sum((SAMPLES - x @ atoms) ** 2) + 0.1 * np.abs(x).sum()

    first = ATOMS[:12] / np.linalg.norm(ATOMS[:12], axis=1, keepdims=True)
    path = [objective(LassoCoder(0.1).refine(SAMPLES, first, passes).astype(float)) for passes in range(4)]
    assert (np.diff(path) < 0).all()
