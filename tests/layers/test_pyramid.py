"""The pyramid equals brute force and doesn't mind the order of descriptors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ddlcn.layers.coding import Codes
from ddlcn.layers.pyramid import SpatialPyramid
from tests.oracles import locality, pyramid


@st.composite
def scenes(draw):
    """An image's codes, the centres of its patches, its shape, the number of atoms."""
    n, n_atoms = draw(st.integers(0, 12)), draw(st.integers(1, 6))
    k = draw(st.integers(1, n_atoms))
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    indices = np.array([rng.permutation(n_atoms)[:k] for _ in range(n)], np.int32).reshape(n, k)
    values = (rng.integers(-4, 5, (n, k)) / 4).astype(np.float32)
    positions = (rng.integers(0, 2 * np.array(shape) - 1, (n, 2)) / 2).astype(np.float32)
    return Codes(indices, values), positions, shape, n_atoms


@given(scenes(), st.sampled_from([(1, 2, 4), (1,), (3, 2), (5,)]))
@settings(max_examples=200, deadline=None)
def test_equals_brute_force(scene, levels):
    codes, positions, shape, n_atoms = scene
    found = SpatialPyramid(levels=levels).pool(codes, positions, shape, n_atoms)
    truth = pyramid.pool(locality.dense(codes.indices, codes.values, n_atoms), positions, shape, levels)
    for ours, theirs in zip(found, truth, strict=True):
        assert ours.dtype == np.float32
        assert_array_equal(ours, theirs)


@given(scenes(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_order_does_not_matter(scene, random):
    (indices, values), positions, shape, n_atoms = scene
    order = random.sample(range(len(values)), len(values))
    shuffled = Codes(indices[order], values[order]), positions[order], shape, n_atoms
    assert_array_equal(SpatialPyramid().pool(*shuffled), SpatialPyramid().pool(*scene))


def test_the_maximum_may_be_negative_only_where_all_use_the_atom():
    codes = Codes(np.array([[0, 1], [0, 2]], np.int32), np.array([[-0.5, 1.5], [-0.25, 1.25]], np.float32))
    maximum, minimum = SpatialPyramid(levels=(1,)).pool(codes, np.zeros((2, 2), np.float32), (8, 8), 4)
    assert_array_equal(maximum, [[-0.25, 1.5, 1.25, 0]])
    assert_array_equal(minimum, [[-0.5, 0, 0, 0]])


@pytest.mark.parametrize(("centre", "cell"), [(0, 0), (3, 0), (3.5, 1), (4, 1), (7, 1), (7.5, 2), (15, 3)])
def test_a_centre_on_a_boundary_belongs_to_the_cell_before(centre, cell):
    """A side of 16 cut in 4: the first cell ends with centre 3, which is 4 in the authors' count from one."""
    codes = Codes(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    maximum, _ = SpatialPyramid(levels=(4,)).pool(codes, np.array([[centre, 0]], np.float32), (16, 16), 1)
    assert_array_equal(maximum.reshape(4, 4).argmax(0)[0], cell)
    assert maximum.sum() == 1
