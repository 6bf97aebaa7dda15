"""The deep channel: by hand, beside pooled codes, and as long as held-out images say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT
from ddlcn.deep import LENGTHS
from ddlcn.experiments.datasets import load_dataset
from ddlcn.experiments.protocols import draw_split
from ddlcn.held_out import Judge
from ddlcn.layers.coding import LocalityCoder
from ddlcn.layers.network import DEEP_SIDE, Network
from ddlcn.layers.pyramid import SpatialPyramid

RNG = np.random.default_rng(0)
SIFT = DenseSIFT(patch_size=(8, 12), step=5, contrast_threshold=0.05)
IMAGES = [SIFT.transform(RNG.random(shape)) for shape in ((40, 30), (61, 47), (61, 47), (12, 12))]
DIGITS = load_digits()


def network(deep, deeper=(7, 3), **settings):
    rng = np.random.default_rng(1)
    atoms = [np.abs(rng.normal(size=(n, 128))) for n in (20, *deeper)]
    atoms = [(each / np.linalg.norm(each, axis=1, keepdims=True)).astype(np.float32) for each in atoms]
    coders = [LocalityCoder(5)] * len(atoms)
    return Network(atoms, coders, SpatialPyramid((1, 2)), deep=deep, **settings)


def by_hand(made, image):
    """Each small patch by least squares, its roots with their signs added to its cell, a cell at a time."""
    atoms = np.concatenate(made.dictionaries[1:]).astype(float)
    wide, sums, members = (
        np.vstack([atoms.T, 0.1 * np.eye(len(atoms))]),
        np.zeros((DEEP_SIDE, DEEP_SIDE, len(atoms))),
        np.zeros((DEEP_SIDE, DEEP_SIDE, 1)),
    )
    for value, (y, x), size in zip(image.values, image.positions, image.sizes, strict=True):
        if size == min(image.sizes):
            code = np.linalg.lstsq(wide, np.concatenate([value, np.zeros(len(atoms))]), rcond=None)[0]
            cell = tuple(np.ceil((np.array([y, x]) + 1) * DEEP_SIDE / image.shape).astype(int) - 1)
            sums[cell] += np.sign(code) * np.abs(code) ** made.power
            members[cell] += 1
    return (sums / np.maximum(members, 1)).reshape(DEEP_SIDE**2, -1)


@pytest.mark.parametrize("power", [1.0, 0.5, 0.3])
def test_means_of_ridge_codes(power):
    made = network(1.0, power=power)
    for image in IMAGES:
        assert_allclose(made.deep_means(image), by_hand(made, image), atol=2e-5 if power == 1 else 2e-3)


@pytest.mark.parametrize("settings", [{}, {"expand": True}, {"min_channel": True, "power": 0.5}])
def test_rows_are_pooled_codes_and_the_channel(settings):
    made, plain = network(2.0, **settings), network(0.0, **settings)
    rows, pooled = made.rows(IMAGES).toarray(), plain.rows(IMAGES).toarray()
    assert made.n_features == rows.shape[1] == plain.n_features + DEEP_SIDE**2 * 10
    means = np.array([made.deep_means(image).ravel() for image in IMAGES])
    means *= 2 / np.linalg.norm(means, axis=1, keepdims=True)
    assert_allclose(rows, np.hstack([pooled, means]) / 5**0.5, atol=1e-6)


def test_a_row_depends_on_its_own_image_alone():
    made = network(1.0, power=0.5)
    together = made.rows(IMAGES)
    for i, image in enumerate(IMAGES):
        alone = made.rows([image])
        assert_array_equal(alone.toarray()[0], together[[i]].toarray()[0])


def test_blank_images_have_a_blank_channel():
    made, plain = network(1.0), network(0.0)
    blank = DenseSIFT(contrast_threshold=1).transform(np.zeros((30, 30)))
    row = made.rows([blank]).toarray()
    assert not made.deep_means(blank).any()
    assert not row[:, made.n_pooled :].any()
    assert_allclose(row[:, : made.n_pooled], plain.rows([blank]).toarray(), atol=1e-6)


def test_more_deeper_atoms_than_a_descriptor_has_numbers():
    made = network(1.0, deeper=(150,))
    assert_allclose(made.deep_means(IMAGES[0]), by_hand(made, IMAGES[0]), atol=2e-5)


# ------------------------------------------------------------------------------------------------- choosing


def _fit(images=DIGITS.images[:60], labels=DIGITS.target[:60], **settings):
    settings = {"atoms_per_class": 2, "deeper_atoms": (8,), "copies": "none", "C": 1.0} | settings
    return DDLCNClassifier(**settings).fit(images, labels)


@pytest.mark.parametrize(
    ("gains", "length"),
    [((0.2, 0.3, 0.1, 0.1), 1.0), ((-0.1, -0.2, -0.3, -0.4), 0.0), ((0.0, 0.0, 0.1, 0.2), 4.0)],
)
def test_the_length_that_helps_most_is_taken(monkeypatch, gains, length):
    found = iter([np.zeros(9), *(np.full(9, gain) for gain in gains)])
    monkeypatch.setattr(Judge, "likelihoods", lambda *_: next(found))
    assert _fit().network_.deep == length


@pytest.mark.parametrize("room", [1 << 24, 1000])
def test_lengths_are_judged_by_the_rows_that_they_make(monkeypatch, room):
    """Products of rows whose channel has that length, as the network makes them; in memory and in a file.

    Blank images have no channel.
    """
    images = np.where(np.arange(60)[:, None, None] % 25 == 7, 0, DIGITS.images[:60])
    asked = []
    monkeypatch.setattr(Judge, "likelihoods", lambda _, gram: asked.append(gram) or np.zeros(9))
    monkeypatch.setattr("ddlcn.classifier.ASKED_ROOM", room)
    model = _fit(images)
    for length, gram in zip((0.0, *LENGTHS), asked, strict=True):
        model.network_.deep = length
        rows = model.transform(images)
        assert_allclose(gram, (rows @ rows.T).toarray() + 1, atol=1e-5)


def test_nobody_to_ask():
    assert _fit(DIGITS.images[:10], DIGITS.target[:10]).network_.deep == 1.0
    assert _fit(deeper_atoms=()).network_.deep == 0.0


def test_nothing_is_left_chosen_if_choosing_fails(monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    model = DDLCNClassifier(atoms_per_class=2, deeper_atoms=(8,))
    with pytest.raises(NotFittedError):
        model.weigh(DIGITS.images[:60], DIGITS.target[:60])
    model.learn(DIGITS.images[:60], DIGITS.target[:60])
    monkeypatch.setattr(Judge, "likelihoods", fail)
    with pytest.raises(KeyboardInterrupt):
        model.weigh(DIGITS.images[:60], DIGITS.target[:60])
    assert model.network_.deep == 0


def test_faces_are_asked_and_few_of_them_gain(data_dir):
    faces = load_dataset("yaleb", data_dir)
    split = draw_split(faces, 3, None, 0)
    train, test = split.train, split.test[::5]
    scores = {}
    for deep in ("cv", 0.0):
        model = _fit([faces.images[i] for i in train], faces.target[train], deep=deep)
        scores[deep] = model.score([faces.images[i] for i in test], faces.target[test])
    assert scores["cv"] > scores[0.0] + 0.1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"deep": -1}, "deep=-1: must be a number from 0"),
        ({"deep": "long"}, "deep='long': must be a number from 0"),
        ({"deep": float("nan")}, "deep=nan: must be a number from 0"),
        ({"deep": float("inf")}, "deep=inf: must be a number from 0 to 1e"),
        ({"deep": 2e6}, "deep=2000000.0: must be a number from 0 to 1e"),
        ({"deep": 1.0, "deeper_atoms": ()}, "deep=1.0: there are no deeper atoms"),
    ],
)
def test_strange_lengths(settings, words):
    with pytest.raises(DDLCNError, match=words):
        _fit(**settings)


def test_a_store_and_threads_change_nothing(tmp_path):
    here, there = _fit(deep=1.0, n_jobs=1), _fit(deep=1.0, n_jobs=2, store=tmp_path / "work")
    assert_array_equal(here.svm_.coef_, there.svm_.coef_)
    asked, stored = _fit(), _fit(store=tmp_path / "work")
    assert asked.network_.deep == stored.network_.deep
    assert_array_equal(asked.svm_.coef_, stored.svm_.coef_)
