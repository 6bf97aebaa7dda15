import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import Lasso

from ddlcn import DDLCNError
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.coders import KernelCoder, LaplacianCoder, LassoCoder

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
    ours = LassoCoder(penalty=0.1).encode(SAMPLES, ATOMS).dense(60)
    np.testing.assert_allclose(ours, peer.coef_, atol=1e-5)


def test_absolute_codes():
    codes = LassoCoder(penalty=0.1).encode(SAMPLES, ATOMS).dense(60)
    np.testing.assert_array_equal(
        LassoCoder(penalty=0.1, absolute=True).encode(SAMPLES, ATOMS).dense(60), np.abs(codes)
    )


def test_kernel_codes():
    shares = np.exp(-(cdist(SAMPLES, ATOMS) ** 2) / (2 * 0.7**2))
    expected = shares / shares.sum(axis=1, keepdims=True)
    codes = KernelCoder(width=0.7, n_neighbors=60).encode(SAMPLES, ATOMS)
    np.testing.assert_allclose(codes.dense(60), expected, atol=1e-6)


@pytest.mark.parametrize("coder", [LassoCoder(penalty=0), KernelCoder(width=0), KernelCoder(n_neighbors=0)])
def test_invalid_parameters(coder):
    with pytest.raises(DDLCNError, match="must be"):
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

    def objective(i, x):
        far = ((x - coder.template_codes_[nearest[i]]) ** 2).sum()
        return 0.5 * np.sum((SAMPLES[i] - x @ atoms) ** 2) + 0.05 * np.abs(x).sum() + 0.15 * far

    codes = coder.encode(SAMPLES, atoms).dense(60).astype(float)
    for i in range(3):
        best = objective(i, codes[i])
        for j in range(60):  # convex, so no small step along an axis lowers it
            for step in (1e-3, -1e-3):
                moved = codes[i].copy()
                moved[j] += step
                assert objective(i, moved) >= best - 1e-9


def test_laplacian_without_templates():
    with pytest.raises(DDLCNError, match="refine"):
        LaplacianCoder().encode(SAMPLES, ATOMS)
