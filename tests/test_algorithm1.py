"""The collapse: features as short as the first dictionary have the Gram matrix of Algorithm 1's literal vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ddlcn.channel import Channel
from ddlcn.layers.coding import LLCCoder, LocalityCoder
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from tests.helpers import dense_rows, quick_channels, quick_model, random_descriptors, small_digits, unit_rows
from tests.oracles.algorithm1 import augmented, channel_vectors

WIDTHS = [(9,), (9, 6), (9, 6, 5)]


def channel_of(rng, widths, coder=LocalityCoder, levels=(1, 2, 4), minima=False, power=1.0):
    """A channel of random dictionaries."""
    pooling, coders = SpatialPyramid(levels, minima), (coder(n_neighbors=4), coder(n_neighbors=3))
    found = Channel("sift", DenseSIFT(), coders[0], pooling, None, deeper_coder=coders[1], power=power)
    return found.learnt(tuple(unit_rows(rng, width) for width in widths))


def test_augmented_code_by_hand():
    found = augmented(np.array([[2.0, -1]]), [np.array([[1.0, 0, 3], [0, 5, 0]])])
    assert_allclose(found, [[2, 2, 0, 6, -1, 0, -5, 0]])


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_gram_matrix_equals_algorithm_1(data):
    choices = {"widths": WIDTHS, "coder": [LocalityCoder, LLCCoder], "levels": [(1, 2, 4), (3,)]}
    choices |= {"minima": [False, True], "power": [1.0, 0.5]}
    chosen = {name: data.draw(st.sampled_from(values)) for name, values in choices.items()}
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    images, channel = random_descriptors(rng, 5), channel_of(rng, **chosen)
    short, literal = dense_rows(channel.blocks(images), channel.n_features), channel_vectors(channel, images)
    assert_allclose(short @ short.T, literal @ literal.T, atol=1e-5)
    assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-5)
    parts = channel.n_features / channel.pooling.n_cells / 9  # maxima, and minima if asked for or if a code is negative
    assert parts in ({2} if chosen["minima"] else {1} if chosen["widths"] == (9,) else {1, 2})


@pytest.mark.parametrize("preset", ["paper", "best"])
def test_gram_matrix_of_a_fitted_model(preset):
    """Images of real digits, dictionaries learnt on them."""
    images, y = small_digits()
    model = quick_model(channels=quick_channels(preset)[:1], preset="paper").fit(images, y)
    (channel,) = model.encoder_.channels
    literal = channel_vectors(channel, [model.encoder_.describe(image)["sift"] for image in images[::4]])
    rows = model.transform(images[::4]).toarray()
    assert literal.shape[1] > rows.shape[1]
    assert_allclose(rows @ rows.T, literal @ literal.T, atol=1e-5)
