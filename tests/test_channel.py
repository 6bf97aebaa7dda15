"""Channel: blocks and shares by brute force, parameters, descriptions, and what is refused."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from ddlcn.channel import Channel
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LinearCoder, LLCCoder, LocalityCoder
from ddlcn.layers.covariance import LogCovariance
from ddlcn.layers.dictionary import DictionaryLearning
from ddlcn.layers.patches import Descriptors
from ddlcn.layers.pooling import MeanGrid, SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.presets import best, paper
from tests.helpers import dense_rows, quick_channels, quick_model, random_descriptors, unit_rows
from tests.oracles import locality, pyramid


class Numbers(DenseSIFT):
    """Describes by ten numbers."""

    n_features = 10


PYRAMID = Channel("sift", Numbers(), LocalityCoder(4), SpatialPyramid((1, 2), minima=True), "v", power=0.5)
WHITENING = np.random.default_rng(0).standard_normal((5, 13)).astype(np.float32)
CHANNELS = {
    "pyramid": PYRAMID.learnt((unit_rows(np.random.default_rng(0), 200),)),
    "deep": PYRAMID.with_params(deeper_coder=LLCCoder(3), coder=LLCCoder(5), power=1.0, pooling__minima=False).learnt(
        tuple(unit_rows(np.random.default_rng(n), n) for n in (9, 6, 5))
    ),
    "grid": Channel("grid", Numbers(), LinearCoder(), MeanGrid(3), "sift", power=0.5).learnt(
        tuple(unit_rows(np.random.default_rng(n), n) for n in (6, 5))
    ),
    "descriptors": Channel("mean", Numbers(), None, MeanGrid(2)),
    "covariance": Channel("covariance", Numbers(), None, LogCovariance(5), projection=(WHITENING,)),
    "covariance_grid": Channel("cells", Numbers(), None, LogCovariance(5, side=3), projection=(WHITENING,)),
}
EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)


def images_of(seed=0, n=6):
    """Images of few patches, and one of so many that nearly all atoms are used."""
    rng = np.random.default_rng(seed)
    many = Descriptors(unit_rows(rng, 400), rng.uniform(0, 23, (400, 2)).astype(np.float32), (24, 31), np.full(400, 4))
    return [*random_descriptors(rng, n), many]


# ------------------------------------------------------------------------------------------------- blocks


def test_pyramid_block_equals_brute_force():
    channel = CHANNELS["pyramid"]
    (atoms,) = channel.dictionaries
    found = dense_rows(channel.blocks(images_of()), channel.n_features)
    for row, image in zip(found, images_of(), strict=True):
        codes = locality.dense(*LocalityCoder(4).encode(image.values, atoms), 200)
        pooled = np.hstack(pyramid.pool(codes, image.positions, image.shape, (1, 2))).ravel()
        truth = np.sign(pooled) * np.sqrt(np.abs(pooled))
        assert_allclose(row, truth / np.linalg.norm(truth), atol=1e-5)


@pytest.mark.parametrize("name", ["grid", "descriptors"])
def test_mean_block_equals_brute_force(name):
    channel = CHANNELS[name]
    found = dense_rows(channel.blocks(images_of()), channel.n_features)
    for row, image in zip(found, images_of(), strict=True):
        codes, small = image.values.astype(float), image.sizes == image.sizes.min()
        if channel.coder is not None:
            U = np.concatenate(channel.dictionaries).astype(float)
            codes = codes @ np.linalg.solve(U.T @ U + 0.01 * np.eye(10), U.T)
            codes = np.sign(codes) * np.sqrt(np.abs(codes))
        cells = pyramid.cells(image.positions[small], image.shape, (channel.pooling.side,))
        truth = np.array([codes[small][members].mean(0) if members else 0 * codes[0] for members in cells]).ravel()
        assert_allclose(row, truth / np.linalg.norm(truth), atol=2e-5)


@EVERY
def test_batch_equals_single(channel):
    if isinstance(channel.pooling, MeanGrid):  # locality codes of a blank image sum to one, its means are zero
        blank = images_of()[0]._replace(values=np.zeros_like(images_of()[0].values))
        assert [len(part) for part in channel.blocks([blank])[0]] == [0, 0]
    for image, block in zip(images_of(), channel.blocks(images_of()), strict=True):
        (alone,) = channel.blocks([image])
        assert_array_equal(alone.columns, block.columns)
        assert_array_equal(alone.values, block.values)
        assert (np.diff(block.columns) > 0).all()
        assert np.linalg.norm(block.values.astype(float)) == pytest.approx(1, abs=1e-6)


def test_tables_are_codes_of_atoms_over_the_next_layer():
    """Eqs. 6 and 7, here by the closed form of LLC; the coder's other atoms have codes of zero."""
    channel = CHANNELS["deep"]
    layers = [atoms.astype(float) for atoms in channel.dictionaries]
    assert [table.shape for table in channel.tables] == [(9, 6), (6, 5)]
    for table, V, U in zip(channel.tables, layers, layers[1:], strict=False):
        for row, atom in zip(table, V, strict=True):
            near = locality.nearest(atom, U, 3)
            assert_allclose(row[near], locality.llc(atom, U[near], 1e-4), atol=1e-4)
            assert np.count_nonzero(row) <= 3
    assert CHANNELS["pyramid"].tables == []


# ------------------------------------------------------------------------------------------------- shares


@EVERY
def test_shares_add_up_to_the_score(channel):
    coef = np.random.default_rng(5).normal(size=channel.n_features)
    rows = dense_rows(channel.blocks(images_of()), channel.n_features)
    for image, row in zip(images_of(), rows, strict=True):
        shares, atoms = channel.shares(image, coef)
        assert len(shares) == len(image.values)
        assert shares.sum() == pytest.approx(coef @ row, abs=1e-4)
        assert (atoms is None) == isinstance(channel.pooling, MeanGrid | LogCovariance)
        if atoms is not None:
            assert_array_equal(atoms, channel.codes(image.values).indices)


def test_maximum_belongs_to_the_patch_that_attained_it():
    """One atom of one cell counts: all of its share is at the patch with its largest code."""
    channel, image = CHANNELS["pyramid"], images_of()[-1]
    codes = channel.codes(image.values).dense(200)
    for atom in np.flatnonzero(codes.max(axis=0) > 0)[::20]:
        shares, atoms = channel.shares(image, np.eye(1, channel.n_features, atom)[0])
        assert_array_equal(np.argwhere(shares)[:, 0], [codes[:, atom].argmax()])
        assert_array_equal(atoms[shares != 0], [atom])


# --------------------------------------------------------------------------------------------- parameters


def test_params_round_trip():
    (sift,) = paper().channels
    assert sift.get_params()["coder__beta"] == 0.01
    assert "coder__beta" not in sift.get_params(deep=False)
    other = sift.with_params(coder__beta=0.5, power=0.25, pooling=SpatialPyramid((1,)), pooling__minima=True)
    assert (other.coder.beta, other.power, other.pooling.levels, other.pooling.minima) == (0.5, 0.25, (1,), True)
    assert (sift.coder.beta, sift.power, sift.pooling.levels) == (0.01, 1.0, (1, 2, 4))
    assert other.descriptor is sift.descriptor
    assert clone(other).to_dict() == other.to_dict()
    with pytest.raises(ValueError, match="channel 'sift' has no parameter 'code'"):
        sift.with_params(code__beta=1)
    with pytest.raises(ValueError, match="Invalid parameter 'b' for estimator LocalityCoder"):
        sift.with_params(coder__b=1)
    with pytest.raises(ValueError, match="'dictionary' of channel 'sift' is 'v', which has no parameters"):
        PYRAMID.with_params(dictionary__atoms_per_class=1)


@pytest.mark.parametrize(
    "channel", [*best().channels[:2], *paper().channels, Channel("m", DenseSIFT(), None, MeanGrid())]
)
def test_description_round_trip(channel):
    text = json.dumps(channel.to_dict())
    again = Channel.from_dict(json.loads(text))
    assert again.to_dict() == channel.to_dict()
    assert (type(again.coder), type(again.pooling)) == (type(channel.coder), type(channel.pooling))
    assert "weight" not in channel.to_dict()  # an encoder has the weights of its channels
    with pytest.raises(DDLCNError, match="'Popen' is no part of a channel; known are "):
        Channel.from_dict(json.loads(text.replace("DenseSIFT", "Popen")))
    with pytest.raises(FrozenInstanceError):
        channel.power = 0.25


INVALID = {
    "weight": [0, "heavy", float("nan")],
    "power": [0, 5],
    "name": ["a__b", "a.b", "calibration"],
    "coder__beta": [-1],
}
INVALID |= {"coder": [None], "pooling": [MeanGrid()], "dictionary": [None, DictionaryLearning(atoms_per_class=0)]}
INVALID |= {"deeper_coder__n_neighbors": [0], "pooling__levels": [()], "descriptor__step": [0]}
WORDS = (
    "weight=|power=|another name|beta=|use MeanGrid|its coder needs dict|atoms_per_class=0|n_neighbors=|levels=|step=0"
)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in INVALID for value in INVALID[name]])
def test_invalid_parameters(name, value):
    (sift,) = paper().channels
    sift.check()
    with pytest.raises(DDLCNError, match=WORDS):
        sift.with_params(**{name: value}).check()


def test_default_weight_of_a_descriptor_is_checked():
    channel = CHANNELS["descriptors"].with_params(weight="auto", descriptor=type("Light", (Numbers,), {})())
    channel.check()
    type(channel.descriptor).default_weight = 0
    with pytest.raises(DDLCNError, match="weight=0 of channel 'mean': must be"):
        channel.check()


@pytest.mark.parametrize(
    "params", [{"power": 0.5}, {"coder": LinearCoder(), "dictionary": "sift"}, {"deeper_coder": LLCCoder()}]
)
def test_what_covariances_do_not_use_is_refused(params):
    covariance = best().channels[3]
    covariance.check()
    with pytest.raises(
        DDLCNError, match="'covariance': use LogCovariance without coders and dictionary, and with power=1"
    ):
        covariance.with_params(**params).check()


def test_dictionaries_of_other_descriptors(digits):
    """Compiled code would read beyond the atoms."""
    channels = quick_channels(sift__dictionary__n_components=8)
    with pytest.raises(DDLCNError, match="'sift_grid' needs atoms of 128 values, not 8: set n_components=None"):
        quick_model(channels=channels).fit(*digits)
