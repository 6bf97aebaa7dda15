import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from ddlcn_lab.methods.ksvd import LabelConsistentKSVD, omp_codes

pytest.importorskip("dictlearn")


def test_omp_equals_sklearn(digits):
    X, y, Z, _ = digits
    model = LabelConsistentKSVD(3, sparsity=4, passes=2).fit(X, y)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    peer = orthogonal_mp(model.atoms_.T, Z.T, n_nonzero_coefs=4).T
    np.testing.assert_allclose(omp_codes(Z, model.atoms_, 4), peer, atol=1e-8)


def test_error_falls(digits):
    X, y, *_ = digits
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    errors = []
    for passes in (0, 8):
        model = LabelConsistentKSVD(3, sparsity=4, passes=passes, first_passes=0).fit(X, y)
        errors.append(np.linalg.norm(X - omp_codes(X, model.atoms_, 4) @ model.atoms_))
    assert errors[1] < errors[0]
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)
    every = LabelConsistentKSVD(None, sparsity=4, passes=1, first_passes=0).fit(X, y)
    assert len(every.atoms_) == len(X)
