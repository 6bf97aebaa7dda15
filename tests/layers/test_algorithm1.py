"""The collapse, on oracles alone: depth only reweights the pooled maximum and minimum of layer 1."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.oracles.algorithm1 import augmented, image_vector
from tests.oracles.pyramid import pool


def images(rng, n_atoms, n_images=5, n=12):
    """Sparse signed codes of a few images, with centres in 16×20 pixels."""
    codes = rng.normal(size=(n_images, n, n_atoms)) * (rng.random((n_images, n, n_atoms)) < 0.4)
    return list(zip(codes, rng.uniform(0, 15, (n_images, n, 2)), strict=True))


@pytest.mark.parametrize("widths", [(6,), (6, 4), (6, 4, 3), (6, 4, 3, 2)])
def test_the_linear_kernel_of_the_long_vector_is_that_of_the_short_one(widths):
    rng = np.random.default_rng(len(widths))
    tables = [rng.normal(size=pair) for pair in pairwise(widths)]
    below = augmented(tables[0], tables[1:]) if tables else np.zeros((6, 1))
    up, down = np.sqrt(1 + (below.clip(0) ** 2).sum(1)), np.linalg.norm(below.clip(None, 0), axis=1)

    long, short = [], []
    for codes, positions in images(rng, 6):
        largest, smallest = pool(codes, positions, (16, 20))
        long.append(image_vector(codes, tables, positions, (16, 20)))
        short.append(np.r_[(largest * up).ravel(), (smallest * down).ravel()])
    short = np.array(short) / np.linalg.norm(short, axis=1, keepdims=True)
    assert_allclose(short @ short.T, np.array(long) @ np.array(long).T, atol=1e-12)


def test_two_layers_by_hand():
    assert_allclose(
        augmented(np.array([[2.0, -1]]), [np.array([[1.0, 0, 3], [0, 5, 0]])]), [[2, 2, 0, 6, -1, 0, -5, 0]]
    )
