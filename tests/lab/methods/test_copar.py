import numpy as np
import pytest

from ddlcn_lab.methods.copar import COPAR
from tests.lab.conftest import assert_minimum


@pytest.fixture
def model(three_digits):
    return COPAR(atoms_per_class=4, shared_atoms=2, sparsity=0.02).fit(*three_digits)


def test_codes_are_optimal(model, three_digits):
    Y, targets = three_digits
    A = np.zeros((len(Y), len(model.atoms_)))
    for c in range(3):
        A[targets == c] = model.codes(Y[targets == c], c)
    assert_minimum(lambda moved: model.objective(Y, moved, targets), A, range(5))


def test_atom_update_without_incoherence(model, three_digits):
    Y, targets = three_digits
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
