import numpy as np
import pytest
from sklearn.linear_model import Ridge

from ddlcn_lab.methods.addl import ADDL
from tests.lab.conftest import assert_minimum


@pytest.fixture
def model(three_digits):
    return ADDL(atoms_per_class=4, passes=6).fit(*three_digits)


def test_projection_is_optimal(model, three_digits):
    Y, targets = three_digits
    H = np.eye(3)[targets]
    S = np.random.default_rng(0).normal(size=(len(Y), 12)) * (targets[:, None] == model.atom_classes_)

    def objective(projection):
        model.projection_ = projection
        return model.objective(Y, S, H)

    assert_minimum(objective, model.project(Y, S, H, np.linalg.eigh(Y.T @ Y)), range(0, 64, 9))


def test_codes_are_optimal(model, three_digits):
    Y, targets = three_digits
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


def test_classifier_is_ridge(model, three_digits):
    Y, targets = three_digits
    peer = Ridge(alpha=model.ridge / model.fidelity, fit_intercept=False)
    peer.fit(Y @ model.projection_, np.eye(3)[targets])
    np.testing.assert_allclose(model.weights_, peer.coef_.T, atol=1e-6)
