import numpy as np
import pytest

from ddlcn.baselines.copar import COPAR


@pytest.fixture
def small(digits):
    X, y, *_ = digits
    keep = y < 3
    Y, codes = X[keep] / np.linalg.norm(X[keep], axis=1, keepdims=True), y[keep]
    return COPAR(atoms_per_class=4, shared_atoms=2, sparsity=0.02).fit(Y, codes), Y, codes


def test_objective_falls_with_every_pass(small):
    assert (np.diff(small[0].objective_path_) < 0).all()


def test_codes_minimise_the_objective(small):
    model, Y, codes = small
    A = np.zeros((len(Y), len(model.atoms_)))
    for c in range(3):
        A[codes == c] = model.codes(Y[codes == c], c)
    best = model.objective(Y, A, codes)
    for row in range(5):
        for j in range(A.shape[1]):  # convex, so no small step along any axis may gain
            for step in (1e-4, -1e-4):
                moved = A.copy()
                moved[row, j] += step
                assert model.objective(Y, moved, codes) >= best - 1e-10


@pytest.mark.parametrize("owner", [-1, 0, 2])
def test_atoms_keep_unit_length_and_their_update_lowers_the_objective(small, owner):
    model, Y, codes = small
    A = np.concatenate([model.codes(Y[codes == c], c) for c in range(3)])
    Y, codes = np.concatenate([Y[codes == c] for c in range(3)]), np.sort(codes)
    model.atoms_ += np.random.default_rng(0).normal(scale=0.1, size=model.atoms_.shape)
    model.atoms_ /= np.linalg.norm(model.atoms_, axis=1, keepdims=True)
    before = model.objective(Y, A, codes)
    model._update_atoms(Y, A, codes, owner)
    assert model.objective(Y, A, codes) < before
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)


def test_without_label_terms_the_atom_update_is_least_squares(small):
    model, Y, codes = small
    model.set_params(incoherence=0.0)
    A = np.random.default_rng(0).normal(size=(len(Y), len(model.atoms_)))
    j = int(np.flatnonzero(model.owners_ == 1)[0])
    rest = np.delete(np.arange(len(model.atoms_)), j)
    near, mine = model._near(codes), codes == 1
    # both terms that hold atom j, stacked, solved by least squares
    left = np.concatenate(
        [Y - A[:, rest] @ model.atoms_[rest], (Y - (A * near)[:, rest] @ model.atoms_[rest])[mine]]
    )
    column = np.concatenate([A[:, j], A[mine, j]])
    atom = column @ left
    model._update_atoms(Y, A, codes, 1)
    np.testing.assert_allclose(model.atoms_[j], atom / np.linalg.norm(atom), atol=1e-10)


def test_copar_knows_digits(digits):
    X, y, Z, t = digits
    assert COPAR(atoms_per_class=6, shared_atoms=3).fit(X, y).score(Z, t) > 0.85
