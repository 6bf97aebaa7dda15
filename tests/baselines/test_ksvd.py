import numpy as np
import pytest
from sklearn.linear_model import Ridge, orthogonal_mp

from ddlcn import DDLCNError
from ddlcn.baselines.ksvd import LabelConsistentKSVD, ridge_fit

dictlearn = pytest.importorskip("dictlearn")


def test_ridge_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    peer = Ridge(alpha=0.7, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(ridge_fit(X, Y, 0.7), peer.coef_.T)


def test_its_omp_agrees_with_scikit_learn(digits):
    X, y, Z, _ = digits
    model = LabelConsistentKSVD(3, sparsity=4, passes=2).fit(X, y)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    peer = orthogonal_mp(model.atoms_.T, Z.T, n_nonzero_coefs=4).T
    np.testing.assert_allclose(model._encode(Z, model.atoms_), peer, atol=1e-8)


def test_passes_lower_the_error(digits):
    X, y, *_ = digits
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    errors = []
    for passes in (0, 8):
        model = LabelConsistentKSVD(3, sparsity=4, passes=passes, first_passes=0).fit(X, y)
        errors.append(np.linalg.norm(X - model._encode(X, model.atoms_) @ model.atoms_))
    assert errors[1] < errors[0]
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)


@pytest.mark.parametrize(("consistency", "fidelity"), [(0, 0), (0, 0.01), (0.01, 0), (0.01, 0.01)])
def test_every_member_of_the_family_knows_digits(digits, consistency, fidelity):
    X, y, Z, t = digits
    model = LabelConsistentKSVD(8, sparsity=8, consistency=consistency, fidelity=fidelity, ridge=0.1)
    assert model.fit(X, y).score(Z, t) > 0.85


def test_all_samples_can_be_atoms(digits):
    X, y, *_ = digits
    assert len(LabelConsistentKSVD(None, sparsity=4, passes=1, first_passes=0).fit(X, y).atoms_) == len(X)


def test_without_dictlearn_the_remedy_is_said(digits, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dictlearn", None)
    with pytest.raises(DDLCNError, match=r"ddlcn\[bench\]"):
        LabelConsistentKSVD().fit(*digits[:2])
