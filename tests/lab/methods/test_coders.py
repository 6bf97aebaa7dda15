import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import Lasso

from ddlcn import DDLCNError
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.coders import KernelCoder, LaplacianCoder, LassoCoder
from tests.lab.conftest import assert_minimum

rng = np.random.default_rng(0)
ATOMS = rng.normal(size=(60, 20)) / np.sqrt(20)
SAMPLES = rng.normal(size=(15, 20))


@pytest.mark.parametrize("penalty", [0.001, 0.05, 0.5, 50.0])
def test_lasso_is_optimal(penalty):
    gram = ATOMS @ ATOMS.T
    x = lasso_codes(gram, SAMPLES @ ATOMS.T, penalty, 21)
    slope = SAMPLES @ ATOMS.T - x @ gram
    assert np.abs(slope).max() <= penalty + 1e-9
    np.testing.assert_allclose(slope[x != 0], penalty * np.sign(x[x != 0]), atol=1e-9)


def test_lasso_equals_sklearn():
    peer = Lasso(alpha=0.1 / 20, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(ATOMS.T, SAMPLES.T)
    for absolute, truth in ((False, peer.coef_), (True, np.abs(peer.coef_))):
        ours = LassoCoder(penalty=0.1, absolute=absolute).encode(SAMPLES, ATOMS).dense(60)
        np.testing.assert_allclose(ours, truth, atol=1e-5)


def test_kernel_codes():
    shares = np.exp(-(cdist(SAMPLES, ATOMS) ** 2) / (2 * 0.7**2))
    expected = shares / shares.sum(axis=1, keepdims=True)
    codes = KernelCoder(width=0.7, n_neighbors=60).encode(SAMPLES, ATOMS)
    np.testing.assert_allclose(codes.dense(60), expected, atol=1e-6)


INVALID = [LassoCoder(penalty=0), KernelCoder(width=0), KernelCoder(n_neighbors=0), LaplacianCoder()]


@pytest.mark.parametrize("coder", INVALID)
def test_invalid_parameters(coder):
    with pytest.raises(DDLCNError, match=r"must be|refine"):  # a Laplacian coder without templates
        coder.encode(SAMPLES, ATOMS)


def test_refine():
    def objective(atoms):
        x = lasso_codes(atoms @ atoms.T, SAMPLES @ atoms.T, 0.1, 21)
        return 0.5 * np.sum((SAMPLES - x @ atoms) ** 2) + 0.1 * np.abs(x).sum()

    first = ATOMS[:12] / np.linalg.norm(ATOMS[:12], axis=1, keepdims=True)
    path = [objective(LassoCoder(0.1).refine(SAMPLES, first, passes).astype(float)) for passes in range(4)]
    assert (np.diff(path) < 0).all()


def test_laplacian_codes_are_optimal():
    coder = LaplacianCoder(0.05, smoothness=0.3, n_neighbors=3, n_templates=100)
    atoms = coder.refine(rng.normal(size=(100, 20)), ATOMS).astype(float)
    nearest = np.argsort(cdist(SAMPLES, coder.templates_), axis=1)[:, :3]

    def objective(codes):
        far = ((codes[:3, None] - coder.template_codes_[nearest[:3]]) ** 2).sum()
        return 0.5 * np.sum((SAMPLES[:3] - codes[:3] @ atoms) ** 2) + 0.05 * np.abs(codes[:3]).sum() + 0.15 * far

    assert_minimum(objective, coder.encode(SAMPLES, atoms).dense(60).astype(float), range(3), step=1e-3)
