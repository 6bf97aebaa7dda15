"""Pictures of atoms."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from ddlcn import DDLCNClassifier
from ddlcn.report import draw_atoms, save_figure
from ddlcn.report.atoms import NETWORK_NOTE, atom_channels, layers, nearest_patches
from ddlcn.report.pixels import full_contrast, patch
from tests.report.conftest import Case, bars, small_model


@pytest.mark.parametrize(("n_classes", "deeper"), [(2, ()), (2, (4,)), (3, (4, 3))])
def test_draw(n_classes: int, deeper: tuple[int, ...], tmp_path: Path) -> None:
    model, images = small_model(n_classes, deeper)
    save_figure(draw_atoms(model, images), tmp_path / "atoms.png")
    save_figure(draw_atoms(model), tmp_path / "atoms.svg")
    with Image.open(tmp_path / "atoms.png") as picture:
        assert picture.width > 1000


def test_classes_after_extend(tmp_path: Path) -> None:
    """With a class that sorts first, and has no atoms."""
    rng = np.random.default_rng(0)
    images = [bars(rng, angle) for angle in (0, 2) for _ in range(4)]
    model = DDLCNClassifier("paper", atoms_per_class=2, deeper_atoms=(), work_folder=tmp_path)
    model.fit(images, np.repeat(["b", "c"], 4))
    model.extend([bars(rng, 1) for _ in range(4)], ["a"] * 4)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert {tile.squares[0].caption for tile in layers(model)[0].tiles} == {"0\nb", "1\nb", "2\nc", "3\nc"}


def test_nearest_patches(tested: Case) -> None:
    channel, encoder = tested.model.encoder_["sift"], tested.model.encoder_
    atoms = channel.dictionaries[0][:2]
    (first, *_), _ = nearest_patches(tested.model, tested.train.images, {"sift": atoms})["sift"]
    found = []
    for image in tested.train.images:
        values, positions, shape, sizes = encoder.describe(image)["sift"]
        distances = np.linalg.norm(values - atoms[0], axis=1)
        best = distances.argmin()
        pixels = patch(encoder.working_image(image, shape), positions[best], int(sizes[best]), margin=2)
        found.append((distances[best], full_contrast(pixels)))
    np.testing.assert_array_equal(first, min(found, key=lambda each: each[0])[1])


def test_many_atoms(tested: Case) -> None:
    first, second, third = layers(tested.model, most=8)
    assert first.title == "sift, layer 1: 8 of 16 atoms, those with the largest weights"
    assert "4 of 6 atoms, those most used" in second.title
    assert "all 3 atoms" in third.title


def test_atoms_of_all_channels(coloured: tuple[DDLCNClassifier, list[np.ndarray]], tmp_path: Path) -> None:
    model, images = coloured
    names = [channel.name for channel in atom_channels(model)]
    assert names[:2] == ["sift", "color"]
    found = layers(model, images)
    assert [layer.title.split(":")[0] for layer in found] == [f"{name}, layer {n}" for name in names for n in (1, 2)]
    for tile in found[2].tiles:
        atom, *patches = tile.squares
        assert (atom.values.shape, len(patches)) == ((48, 48, 3), 3)
        assert all(patch.values.ndim == 3 for patch in patches)
    if "backbone" in names:
        assert [len(tile.squares) for tile in found[4].tiles] == [3] * 9
        assert [len(tile.squares) for tile in found[5].tiles] == [3] * 4
        assert NETWORK_NOTE in found[4].note
        assert [layer.tiles for layer in layers(model)[4:]] == [[]]  # nothing to draw without images
    save_figure(draw_atoms(model, images), tmp_path / "atoms.png")
    save_figure(draw_atoms(model), tmp_path / "without.png")


def test_nearest_patches_in_colour(coloured: tuple[DDLCNClassifier, list[np.ndarray]]) -> None:
    model, images = coloured
    for name in [channel.name for channel in atom_channels(model)][1:]:
        channel = model.encoder_[name]
        values, positions, shape, sizes = model.encoder_.describe(images[4])[name]
        own = channel.reduced(values)[:3]
        for (first, *_), position, size in zip(
            nearest_patches(model, images, {name: own})[name], positions[:3], sizes[:3], strict=True
        ):
            expected = patch(model.encoder_.working_image(images[4], shape, colour=True), position, int(size))
            np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("patches", [False, True])
def test_texts_do_not_overlap(patches: bool) -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 32, 32), dtype=np.uint8)
    model = DDLCNClassifier("paper", atoms_per_class=600, deeper_atoms=(6,), channels=None)
    model.fit(images, np.repeat(["W" * 30, "a long name of a class"], 6))
    picture = draw_atoms(model, images if patches else None)
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    texts = [text for text in picture.axes[0].texts if text.get_text()]
    assert any(len(text.get_text().split("\n")[0]) == 4 for text in texts)  # atoms from 1000 on
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    for (one, box), (other, other_box) in combinations(zip(texts, boxes, strict=True), 2):
        assert not box.overlaps(other_box), (one.get_text(), other.get_text())
