import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso

from ddlcn_lab.methods.representation import RepresentationClassifier
from ddlcn_lab.methods.rrc import RobustCoding


@pytest.mark.parametrize("n_eigenfaces", [12, 40])
def test_codes_are_a_weighted_lasso(digits, n_eigenfaces):
    X, y, Z, _ = digits
    model = RobustCoding(penalty=0.01, n_eigenfaces=n_eigenfaces).fit(X, y)
    row = (Z[0] / np.linalg.norm(Z[0])).astype(np.float32)
    weights = np.random.default_rng(0).uniform(0.1, 1, size=64).astype(np.float32)
    root = np.sqrt(weights)
    P = PCA(n_eigenfaces).fit(model.atoms_).components_
    peer = Lasso(alpha=0.01 / n_eigenfaces, fit_intercept=False, tol=1e-9, max_iter=100_000)
    peer.fit((root * model.atoms_ @ P.T).T.astype(float), P @ (root * row).astype(float))
    np.testing.assert_allclose(model.code(row, weights), peer.coef_, atol=1e-3)


def test_corrupted_pixels(digits):
    X, y, Z, t = digits
    spoilt = Z.copy()
    spoilt[:, np.random.default_rng(0).choice(64, 6, replace=False)] = 30
    robust = RobustCoding(trusted=0.7).fit(X, y).score(spoilt, t)
    assert robust > RepresentationClassifier().fit(X, y).score(spoilt, t) + 0.1
