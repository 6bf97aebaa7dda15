"""Evidence is exact: the shares of the patches and the bias add up to the score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from ddlcn import Channel, DDLCNError, DenseSIFT, LinearCoder, LLCCoder, LocalityCoder, MeanGrid, SpatialPyramid
from ddlcn.evidence import ChannelEvidence
from ddlcn.layers.dictionary import DictionaryLearning
from ddlcn.layers.patches import Descriptors
from tests.helpers import quick_channels, quick_model
from tests.report.conftest import coloured  # noqa: F401


def bars(seed, n_classes=3, per_class=3, colour=False):
    """Noise with a bright bar, of several sizes; its angle is the class. The last image is constant.

    In colour, bytes with three channels or four.
    """
    rng = np.random.default_rng(seed)
    images, labels = [], np.repeat(np.arange(n_classes), per_class)
    for label in labels:
        height, width = rng.integers(14, 40, size=2)
        image = 0.3 * rng.random((height, width))
        image[:, width // 2] += label == 0
        image[height // 2] += label == 1
        images.append(np.clip(image, 0, 1))
    images[-1] = np.full((20, 30), 0.5)
    if colour:
        images = [(255 * each[..., None] * rng.random(3 + i % 2)).astype(np.uint8) for i, each in enumerate(images)]
    return images, labels


def assert_adds_up(model, image):
    scores = model.decision_function([image])
    for column, label in enumerate(model.classes_):
        evidence = model.explain(image, label)
        score = scores[0, column] if scores.ndim == 2 else (1 if column else -1) * scores[0]
        assert evidence.label == label
        assert evidence.score == pytest.approx(score, abs=1e-5)
        totals = sum(channel.total for channel in evidence.channels)
        assert evidence.bias + totals == pytest.approx(evidence.score, abs=1e-5)
        assert evidence.bias + evidence.map().sum() == pytest.approx(evidence.score, abs=1e-5)
        for channel in evidence.channels:
            assert evidence[channel.name] is channel
            assert channel.map().shape == channel.descriptors.shape
            assert channel.map().sum() == pytest.approx(channel.total, abs=1e-5)
            assert len(channel.shares) == len(channel.descriptors.values)


CHOICES = {"n_classes": [2, 3, 4], "deeper": [(), (5,), (5, 3)], "coder": [LocalityCoder, LLCCoder], "step": [2, 5, 7]}
CHOICES |= {"patch_size": [8, 12, (8, 13)], "power": [0.3, 1.0], "weight": [0.5, 2.0], "minima": [False, True]}


@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1000), colour=st.booleans(), deskew=st.booleans())
def test_shares_and_bias_add_up_to_the_score(data, seed, colour, deskew):
    n_classes, deeper, coder, step, patch_size, power, weight, minima = (
        data.draw(st.sampled_from(values)) for values in CHOICES.values()
    )
    images, labels = bars(seed, n_classes, colour=colour)
    sift = DenseSIFT(patch_size=patch_size, step=step, contrast_threshold=0.1)
    learn = DictionaryLearning(atoms_per_class=3, deeper_atoms=deeper)
    channels = [
        Channel("sift", sift, coder(5), SpatialPyramid((1, 2, 4), minima), learn, coder(3), power),
        Channel("sift_grid", sift, LinearCoder(), MeanGrid(8), "sift", None, power, weight),
        Channel("mean", sift, None, MeanGrid(1), None, None, 1.0, weight),
    ]
    model = quick_model(channels=channels, deskew=deskew).fit(images, labels)
    assert len(model.encoder_.channels) == (3 if deeper else 2)
    for image in (images[0], images[-1], np.zeros((9, 21)), bars(seed + 1, colour=colour)[0][1]):
        assert_adds_up(model, image)


@pytest.fixture(scope="module")
def fitted():
    return quick_model(channels=quick_channels(sift_grid__weight=1.0)).fit(*bars(3))


def test_predicted_class_unless_another_is_given(fitted):
    images, _ = bars(3)
    evidence = fitted.explain(images[0])
    assert evidence.label == fitted.predict([images[0]])[0]
    with pytest.raises(KeyError):
        evidence["color"]
    with pytest.raises(DDLCNError, match="'horse' is not a class of this model: it knows 0, 1, 2"):
        fitted.explain(images[0], "horse")


def test_shares_by_atom_and_by_patch(fitted):
    evidence = fitted.explain(bars(3)[0][0])["sift"]
    n_atoms = len(fitted.encoder_["sift"].dictionaries[0])
    by_atom = evidence.by_atom(n_atoms)
    for atom in range(n_atoms):
        own = np.where(evidence.atoms == atom, evidence.shares, 0).sum(axis=1)
        assert by_atom[atom] == pytest.approx(own.sum(), abs=1e-9)
        patches = evidence.patches_of(atom)
        assert set(patches) == set(np.flatnonzero(own))
        assert (np.diff(np.abs(own[patches])) <= 0).all()
    assert by_atom.sum() == pytest.approx(evidence.total)
    grid = fitted.explain(bars(3)[0][0])["sift_grid"]  # means have no atoms, and are of the smallest patches
    assert (grid.atoms, grid.by_atom(6).any(), len(grid.patches_of(0))) == (None, False, 0)
    small = grid.descriptors.sizes == grid.descriptors.sizes.min()
    assert (grid.shares[small].any(), grid.shares[~small].any()) == (True, False)


def test_map_spreads_a_share_over_its_patch(fitted):
    evidence = fitted.explain(bars(3)[0][0])["sift_grid"]
    truth = np.zeros(evidence.descriptors.shape)
    _, positions, _, sizes = evidence.descriptors
    for share, centre, size in zip(evidence.shares[:, 0], positions, sizes, strict=True):
        rows, columns = (np.abs(np.arange(side) - at) < size / 2 for side, at in zip(truth.shape, centre, strict=True))
        truth[np.ix_(rows, columns)] += share / size**2
    assert_allclose(evidence.map(), truth, atol=1e-9)


def test_colour_and_network(coloured):  # noqa: F811
    model, images = coloured
    names = [channel.name for channel in model.encoder_.channels]
    assert names[:3] == ["sift", "sift_grid", "color"]
    for image in (images[0], images[4][:20], np.zeros((9, 21, 3)), images[8][..., 0]):
        assert_adds_up(model, image)
    assert all(channel.total for channel in model.explain(images[0]).channels)


def test_cells_with_rounded_sides():
    centres = (np.arange(4) + 0.5) * (62 / 4) - 0.5  # 15.5 pixels each, rounded to 16
    positions = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1).reshape(-1, 2)
    descriptors = Descriptors(np.zeros((16, 1)), positions, (62, 62), np.full(16, 16))
    evidence = ChannelEvidence("backbone", np.arange(16.0)[:, None], None, descriptors)
    for shape in ((62, 62), (300, 200), (3, 5), (2, 1)):
        assert evidence.map(shape).sum() == pytest.approx(120)


def test_plot_and_views(fitted):
    image = bars(3)[0][0]
    evidence = fitted.explain(image)
    assert repr(evidence) == f"Evidence for {evidence.label}: {evidence.as_sum()}"
    assert evidence.as_sum(2).startswith("score ")
    assert all(f"{name} " in evidence.as_sum() for name in ("sift", "sift_grid", "bias"))
    axes = Figure().add_subplot()
    assert evidence.plot(axes) is axes
    assert axes.images[0].get_array().shape == (*evidence.shape, 3)
    assert str(evidence.label) in axes.get_title()
    assert evidence._repr_html_().count("<img src=") == 2


def test_plot_by_itself(fitted):
    """A figure of pyplot, as a script or a notebook shows it."""
    pyplot.switch_backend("agg")
    axes = fitted.explain(bars(3)[0][0]).plot()
    assert axes.figure is pyplot.gcf()
    pyplot.close("all")


def test_view_of_a_hostile_label():
    images, labels = bars(3)
    model = quick_model().fit(images, np.array(["<script>alert(1)</script>", "b", "c"])[labels])
    view = model.explain(images[0], "<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in view
    assert "&lt;script&gt;" in view
