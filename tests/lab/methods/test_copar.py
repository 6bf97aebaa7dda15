import numpy as np
import pytest

from ddlcn_lab.methods.copar import COPAR


@pytest.fixture
def small(digits):
    X, y, *_ = digits
    keep = y < 3
    Y, targets = X[keep] / np.linalg.norm(X[keep], axis=1, keepdims=True), y[keep]
    return COPAR(atoms_per_class=4, shared_atoms=2, sparsity=0.02).fit(Y, targets), Y, targets


def test_objective_falls(small):
    assert (np.diff(small[0].objective_path_) < 0).all()


def test_codes_are_optimal(small):
    model, Y, targets = small
    A = np.zeros((len(Y), len(model.atoms_)))
    for c in range(3):
        A[targets == c] = model.codes(Y[targets == c], c)
    best = model.objective(Y, A, targets)
    for row in range(5):
        for j in range(A.shape[1]):  # convex, so no small step along an axis lowers it
            for step in (1e-4, -1e-4):
                moved = A.copy()
                moved[row, j] += step
                assert model.objective(Y, moved, targets) >= best - 1e-10


@pytest.mark.parametrize("atom_class", [-1, 0, 2])
def test_atom_update(small, atom_class):
    model, Y, targets = small
    A = np.concatenate([model.codes(Y[targets == c], c) for c in range(3)])
    Y, targets = np.concatenate([Y[targets == c] for c in range(3)]), np.sort(targets)
    model.atoms_ += np.random.default_rng(0).normal(scale=0.1, size=model.atoms_.shape)
    model.atoms_ /= np.linalg.norm(model.atoms_, axis=1, keepdims=True)
    before = model.objective(Y, A, targets)
    model._update_atoms(Y, A, targets, atom_class)
    assert model.objective(Y, A, targets) < before
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)


def test_atom_update_without_incoherence(small):
    model, Y, targets = small
    model.set_params(incoherence=0.0)
    A = np.random.default_rng(0).normal(size=(len(Y), len(model.atoms_)))
    j = int(np.flatnonzero(model.atom_classes_ == 1)[0])
    rest = np.delete(np.arange(len(model.atoms_)), j)
    near, mine = model._near(targets), targets == 1
    # both terms that hold atom j, stacked, solved by least squares
    left = np.concatenate([Y - A[:, rest] @ model.atoms_[rest], (Y - (A * near)[:, rest] @ model.atoms_[rest])[mine]])
    column = np.concatenate([A[:, j], A[mine, j]])
    atom = column @ left
    model._update_atoms(Y, A, targets, 1)
    np.testing.assert_allclose(model.atoms_[j], atom / np.linalg.norm(atom), atol=1e-10)
