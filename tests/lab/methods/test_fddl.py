import numpy as np
import pytest

from ddlcn_lab.methods.fddl import FDDL


@pytest.fixture(scope="module")
def small(digits):
    X, y, *_ = digits
    keep = y < 3
    Y, targets = X[keep] / np.linalg.norm(X[keep], axis=1, keepdims=True), y[keep]
    return FDDL(atoms_per_class=4, sparsity=0.02, fisher=0.05).fit(Y, targets), Y, targets


def test_objective_falls(small):
    assert (np.diff(small[0].objective_path_) < 0).all()


def test_codes_are_optimal(small):
    model, Y, targets = small
    model.set_params(steps=3000)
    D, owners = model.atoms_, model.atom_classes_
    gram = D @ D.T * (1.0 + (owners[:, None] == owners))
    A = np.random.default_rng(0).normal(size=(len(Y), len(D))) * 0.1
    A[targets == 1] = model._codes(Y, A, targets, 1, gram, float(np.linalg.eigvalsh(gram)[-1]))
    best = model.objective(Y, A, targets)
    mine = np.flatnonzero(targets == 1)
    for row in mine[:4]:
        for j in range(len(D)):  # convex, so no small step along an axis lowers it
            for step in (1e-4, -1e-4):
                moved = A.copy()
                moved[row, j] += step
                assert model.objective(Y, moved, targets) >= best - 1e-9


def test_atom_update(small):
    model, Y, targets = small
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)
    A = np.random.default_rng(0).normal(size=(len(Y), len(model.atoms_))) * 0.1
    before = model.objective(Y, A, targets)
    model._update_atoms(Y, A, targets, 0)
    assert model.objective(Y, A, targets) < before
