"""Algorithm 1 to the letter against the network: expanded, collapsed, and in the eyes of an SVM."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.layers.coding import LLCCoder, LocalityCoder
from ddlcn.layers.network import Network
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.sift import Descriptors
from ddlcn.layers.svm import LinearSVM
from tests.oracles import locality
from tests.oracles.algorithm1 import image_vector


def unit_rows(rng, n, m=10):
    rows = np.abs(rng.normal(size=(n, m))) ** 2
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def images(rng, n, shape=(24, 31)):
    """Images of unlike numbers of patches."""
    sizes = rng.integers(1, 20, n)
    return [
        Descriptors(unit_rows(rng, k), rng.uniform(0, 23, (k, 2)).astype(np.float32), shape, np.full(k, 4))
        for k in sizes
    ]


def networks(rng, widths, coder=LocalityCoder, **options):
    """The same random layers, collapsed and expanded."""
    dictionaries, coders = [unit_rows(rng, s) for s in widths], [coder(n_neighbors=4) for _ in widths]
    return [
        Network(dictionaries, coders, SpatialPyramid(), expand=expand, **options) for expand in (False, True)
    ]


def literal(network, image):
    """Algorithm 1 by the oracle, from the codes of each layer."""
    layers = zip(network.coders, [image.values, *network.dictionaries], network.dictionaries, strict=False)
    gamma, *tables = (
        locality.dense(*coder.encode(items, atoms), len(atoms)) for coder, items, atoms in layers
    )
    return image_vector(gamma, tables, image.positions, image.shape)


WIDTHS = [(9,), (9, 6), (9, 6, 5)]


@pytest.mark.parametrize("coder", [LocalityCoder, LLCCoder])
@pytest.mark.parametrize("widths", WIDTHS)
def test_expanded_is_algorithm_1(widths, coder):
    rng = np.random.default_rng(0)
    pictures, (_, expanded) = images(rng, 6), networks(rng, widths, coder)
    rows = expanded.rows(pictures)
    assert rows.shape[1] == expanded.n_features
    assert_allclose(rows.toarray(), [literal(expanded, picture) for picture in pictures], atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from(WIDTHS), st.booleans(), st.sampled_from([1.0, 0.5]))
@settings(max_examples=40, deadline=None)
def test_collapsed_has_the_gram_matrix_of_expanded(seed, widths, min_channel, power):
    rng = np.random.default_rng(seed)
    pictures, options = images(rng, 5), {"min_channel": min_channel, "power": power}
    collapsed, expanded = (n.rows(pictures).toarray() for n in networks(rng, widths, **options))
    assert_allclose(collapsed @ collapsed.T, expanded @ expanded.T, atol=1e-5)
    assert_allclose(np.linalg.norm(collapsed, axis=1), 1, atol=1e-5)


def test_power_acts_on_what_is_pooled():
    rng = np.random.default_rng(2)
    pictures, (plain, _) = images(rng, 4), networks(rng, (9,), min_channel=True)
    rooted = Network(plain.dictionaries, plain.coders, plain.pyramid, True, power=0.5)
    pooled = plain.rows(pictures).toarray().astype(float)
    expected = np.sign(pooled) * np.sqrt(np.abs(pooled))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(rooted.rows(pictures).toarray(), expected, atol=1e-5)


def test_collapsed_is_as_short_as_the_design_says():
    rng = np.random.default_rng(1)
    for widths, length in (((9,), 21 * 9), ((9, 6), 2 * 21 * 9), ((9, 6, 5), 2 * 21 * 9)):
        collapsed, _ = networks(rng, widths)
        assert collapsed.rows(images(rng, 3)).shape == (3, length)
        assert collapsed.n_features == length


@pytest.mark.parametrize("widths", WIDTHS)
def test_a_support_vector_machine_sees_no_difference(widths):
    rng = np.random.default_rng(2)
    pictures, y = images(rng, 60), np.arange(60) % 3
    rows = [network.rows(pictures) for network in networks(rng, widths)]
    short, long = (LinearSVM(tol=1e-10).fit(X[:40], y[:40]) for X in rows)
    assert_allclose(short.decision_function(rows[0]), long.decision_function(rows[1]), atol=1e-4)
    assert_array_equal(short.predict(rows[0]), long.predict(rows[1]))


def test_an_image_is_the_same_alone_and_in_company():
    rng = np.random.default_rng(3)
    pictures, (network, _) = images(rng, 7), networks(rng, (9, 6))
    together = network.rows(pictures).toarray()
    assert_array_equal(together, np.vstack([network.rows([picture]).toarray() for picture in pictures]))


def test_atoms_that_an_image_does_not_use_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    atoms = unit_rows(rng, 200)
    network = Network([atoms], [LocalityCoder(3)], SpatialPyramid((1, 2)), min_channel=True)
    rows = []
    for codes_an_atom in (0, 1000):
        monkeypatch.setattr("ddlcn.layers.network._MANY_CODES", codes_an_atom)
        rows.append(network.rows(images(np.random.default_rng(1), 5)))
    assert_array_equal(rows[0].toarray(), rows[1].toarray())
    assert_array_equal(rows[0].indices, rows[1].indices)


@pytest.mark.parametrize(
    ("widths", "many", "search", "guided"),
    [
        ((60, 8), 10, 0.2, True),
        ((60, 8, 4), 10, 0.2, True),
        ((60, 8), 60, 0.2, False),  # few atoms are all compared
        ((60,), 10, 0.2, False),  # nobody guides
        ((60, 8), 10, 1.0, False),
    ],
)
def test_very_many_atoms_are_searched_by_those_of_the_next_layer(monkeypatch, widths, many, search, guided):
    monkeypatch.setattr("ddlcn.layers.network._MANY_ATOMS", many)
    rng = np.random.default_rng(4)
    pictures, (network, _) = images(rng, 6), networks(rng, widths, search=search)
    full = networks(np.random.default_rng(4), widths)[0]
    full.dictionaries, values = network.dictionaries, np.concatenate([image.values for image in pictures])
    found, everywhere = network.encode(values).indices, full.encode(values).indices
    assert (found != everywhere).any() == guided
    if guided:
        atoms, deeper = (each.astype(float) for each in network.dictionaries[:2])
        truth = [locality.nearest_of_groups(y, atoms, deeper, search, 4) for y in values.astype(float)]
        assert_array_equal(found, truth)
    together = network.rows(pictures).toarray()
    assert_array_equal(together, np.vstack([network.rows([picture]).toarray() for picture in pictures]))


def test_a_glance_is_the_deep_channel_alone():
    rng = np.random.default_rng(5)
    pictures, (network, _) = images(rng, 5), networks(rng, (9, 6, 5), power=0.5)
    blank = pictures[0]._replace(values=np.zeros_like(pictures[0].values))
    seen = network.glance([*pictures, blank])
    assert seen.shape == (6, network.n_deep) == (6, 16**2 * 11)
    network.deep = 1.0
    rows = network.rows(pictures).toarray()[:, network.n_pooled :]
    assert_allclose(seen.toarray()[:5], rows * 2**0.5, atol=1e-6)
    assert_allclose(np.linalg.norm(seen.toarray()[:5], axis=1), 1, atol=1e-6)
    assert not seen[[5]].toarray().any()
    assert network.n_features == network.n_pooled + network.n_deep
