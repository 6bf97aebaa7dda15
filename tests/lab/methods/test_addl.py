import numpy as np
import pytest
from sklearn.linear_model import Ridge

from ddlcn_lab.methods.addl import ADDL


@pytest.fixture(scope="module")
def small(digits):
    X, y, *_ = digits
    Y, targets = X[y < 3] / np.linalg.norm(X[y < 3], axis=1, keepdims=True), y[y < 3]
    model = ADDL(atoms_per_class=4, passes=6).fit(Y, targets)
    S = np.random.default_rng(0).normal(size=(len(Y), 12)) * (targets[:, None] == model.atom_classes_)
    return model, Y, targets, S


def test_objective_falls(small):
    assert (np.diff(small[0].objective_path_) < 0).all()


def test_projection_is_optimal(small):
    model, Y, targets, S = small
    H = np.eye(3)[targets]
    model.projection_ = model.project(Y, S, H, np.linalg.eigh(Y.T @ Y))
    best, rng = model.objective(Y, S, H), np.random.default_rng(0)
    for _ in range(20):  # convex, so no small step lowers it
        step = rng.normal(size=model.projection_.shape)
        model.projection_ += 1e-4 * step
        assert model.objective(Y, S, H) >= best - 1e-12
        model.projection_ -= 1e-4 * step


def test_codes_are_optimal(small):
    model, Y, targets, _ = small
    mine, own = Y[targets == 1], model.atom_classes_ == 1
    model.set_params(group=2.0)
    S = model.codes(mine, np.ones((len(mine), own.sum())), own, steps=20_000)
    D, target = model.atoms_[own], mine @ model.projection_[:, own]
    slope = 2 * (S @ D - mine) @ D.T + 2 * model.bridge * (S - target)  # of all but the group term
    lengths = np.linalg.norm(S, axis=0)
    on = lengths > 1e-6
    assert 0 < on.sum() < len(on)  # some atoms are off
    np.testing.assert_allclose(slope[:, on], -model.group * S[:, on] / lengths[on], atol=1e-5)
    assert (np.linalg.norm(slope[:, ~on], axis=0) <= model.group * (1 + 1e-3)).all()
    model.set_params(group=0.01)


def test_classifier_is_ridge(digits):
    X, y, *_ = digits
    model = ADDL(atoms_per_class=4, passes=2).fit(X, y)
    Y = X / np.linalg.norm(X, axis=1, keepdims=True)
    peer = Ridge(alpha=model.ridge / model.fidelity, fit_intercept=False)
    peer.fit(Y @ model.projection_, np.eye(10)[y])
    np.testing.assert_allclose(model.weights_, peer.coef_.T, atol=1e-6)
