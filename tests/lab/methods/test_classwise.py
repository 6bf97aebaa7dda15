"""A dictionary per class."""

import numpy as np
from numpy.testing import assert_array_equal

from ddlcn.layers.dictionary import l1_ball_codes
from ddlcn_lab.methods.classwise import ClasswiseDictionary


def loss(Y, atoms):
    return ((Y - l1_ball_codes(Y, atoms) @ atoms) ** 2).sum(axis=1).mean()


def test_any_n_jobs_and_own_class():
    rng = np.random.default_rng(0)
    directions, labels = rng.normal(size=(3, 8)), np.repeat(["a", "b", "c"], 40)
    Y = np.repeat(directions, 40, axis=0) + 0.1 * rng.normal(size=(120, 8))
    one, two = (ClasswiseDictionary(atoms_per_class=4, random_state=0, n_jobs=n).fit(Y, labels) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.atom_classes_, np.repeat(["a", "b", "c"], 4))
    for name in "abc":
        own, others = (one.components_[chosen][:4] for chosen in (one.atom_classes_ == name, one.atom_classes_ != name))
        assert loss(Y[labels == name], own) < loss(Y[labels == name], others)
