import numpy as np

from ddlcn_lab.methods.fddl import FDDL
from tests.lab.conftest import assert_minimum


def test_codes_are_optimal(three_digits):
    Y, targets = three_digits
    model = FDDL(atoms_per_class=4, sparsity=0.02, fisher=0.05).fit(Y, targets).set_params(steps=3000)
    D, owners = model.atoms_, model.atom_classes_
    gram = D @ D.T * (1.0 + (owners[:, None] == owners))
    A = np.random.default_rng(0).normal(size=(len(Y), len(D))) * 0.1
    A[targets == 1] = model._codes(Y, A, targets, 1, gram, float(np.linalg.eigvalsh(gram)[-1]))
    assert_minimum(lambda moved: model.objective(Y, moved, targets), A, np.flatnonzero(targets == 1)[:4])
