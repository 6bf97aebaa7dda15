"""Pyramid, grid and collapsed weights equal brute force, in any order of descriptors."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import Codes
from ddlcn.layers.pooling import MeanGrid, SpatialPyramid, collapsed_weights
from tests.oracles import locality, pyramid
from tests.oracles.algorithm1 import augmented


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
def test_pyramid_equals_brute_force(scene, levels):
    codes, positions, shape, n_atoms = scene
    found = SpatialPyramid(levels=levels).pool(codes, positions, shape, n_atoms)
    truth = pyramid.pool(locality.dense(codes.indices, codes.values, n_atoms), positions, shape, levels)
    for ours, theirs in zip(found, truth, strict=True):
        assert ours.dtype == np.float32
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("centre", "cell"), [(0, 0), (3, 0), (3.5, 1), (4, 1), (7, 1), (7.5, 2), (15, 3)])
def test_centre_on_a_boundary(centre, cell):
    """A side of 16 cut in 4: the first cell ends with centre 3, which is 4 in the authors' count from one."""
    codes = Codes(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    maximum, _ = SpatialPyramid(levels=(4,)).pool(codes, np.array([[centre, 0]], np.float32), (16, 16), 1)
    assert_array_equal(maximum.reshape(4, 4).argmax(0)[0], cell)
    assert maximum.sum() == 1


@pytest.mark.parametrize("side", [1, 3, 16])
def test_grid_has_the_smallest_patches(side):
    rng = np.random.default_rng(side)
    positions, sizes = rng.uniform(0, 29, (40, 2)).astype(np.float32), rng.choice([8, 12, 24], 40)
    patches, cells = MeanGrid(side).patches(positions, sizes, (30, 30))
    assert_array_equal(patches, np.flatnonzero(sizes == 8))
    members = list(pyramid.cells(positions, (30, 30), (side,)))
    assert [patch in members[cell] for patch, cell in zip(patches, cells, strict=True)] == [True] * len(patches)
    assert MeanGrid(side).n_cells == len(members)


@pytest.mark.parametrize("widths", [(6,), (6, 4), (6, 4, 3), (6, 4, 3, 2)])
@pytest.mark.parametrize("minima", [False, True])
def test_collapsed_weights_are_lengths_of_augmented_codes(widths, minima):
    rng = np.random.default_rng(len(widths))
    tables = [rng.normal(size=pair).astype(np.float32) for pair in pairwise(widths)]
    positive, negative = collapsed_weights(tables, widths[-1], minima)
    literal = augmented(np.eye(6), [table.astype(float) for table in tables]).reshape(6, 6, -1)
    truth = literal[np.arange(6), np.arange(6)]
    assert_allclose(positive, np.linalg.norm(truth.clip(0), axis=1), rtol=1e-5)
    below = np.linalg.norm(truth.clip(None, 0), axis=1) ** 2 + minima
    assert_allclose(negative, np.sqrt(below) if below.any() else [], rtol=1e-5)


@pytest.mark.parametrize("pooling", [SpatialPyramid(()), SpatialPyramid((1, 0)), MeanGrid(0)])
def test_invalid_parameters(pooling):
    with pytest.raises(DDLCNError, match=r"levels=|side=0"):
        pooling.n_cells  # noqa: B018
