import numpy as np
import pytest

from ddlcn.baselines.fddl import FDDL


@pytest.fixture(scope="module")
def small(digits):
    X, y, *_ = digits
    keep = y < 3
    Y, codes = X[keep] / np.linalg.norm(X[keep], axis=1, keepdims=True), y[keep]
    return FDDL(atoms_per_class=4, sparsity=0.02, fisher=0.05).fit(Y, codes), Y, codes


def test_objective_falls_with_every_pass(small):
    assert (np.diff(small[0].objective_path_) < 0).all()


def test_codes_minimise_the_objective_of_their_class(small):
    model, Y, codes = small
    model.set_params(steps=3000)
    D, owners = model.atoms_, model.owners_
    gram = D @ D.T * (1.0 + (owners[:, None] == owners))
    A = np.random.default_rng(0).normal(size=(len(Y), len(D))) * 0.1
    A[codes == 1] = model._codes(Y, A, codes, 1, gram, float(np.linalg.eigvalsh(gram)[-1]))
    best = model.objective(Y, A, codes)
    mine = np.flatnonzero(codes == 1)
    for row in mine[:4]:
        for j in range(len(D)):  # convex, so no small step along any axis may gain
            for step in (1e-4, -1e-4):
                moved = A.copy()
                moved[row, j] += step
                assert model.objective(Y, moved, codes) >= best - 1e-9


def test_atoms_keep_unit_length_and_their_update_lowers_the_objective(small):
    model, Y, codes = small
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)
    A = np.random.default_rng(0).normal(size=(len(Y), len(model.atoms_))) * 0.1
    before = model.objective(Y, A, codes)
    model._update_atoms(Y, A, codes, 0)
    assert model.objective(Y, A, codes) < before


def test_fddl_knows_digits(digits):
    X, y, Z, t = digits
    assert FDDL(atoms_per_class=8).fit(X, y).score(Z, t) > 0.85
