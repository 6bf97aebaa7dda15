"""Pictures of atoms."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier
from ddlcn.report import draw_atoms, save_figure
from ddlcn.report.atoms import atom_channel, layers, nearest_patches
from ddlcn.report.pixels import patch
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
    assert {tile.squares[0].caption for tile in layers(model)[0].tiles} == {"0: b", "1: b", "2: c", "3: c"}


def test_nearest_patches(tested: Case) -> None:
    channel, encoder = atom_channel(tested.model), tested.model.encoder_
    atoms = channel.dictionaries[0][:2]
    (first, *_), _ = nearest_patches(tested.model, channel, tested.train.images, atoms)
    found = []
    for image in tested.train.images:
        values, positions, _, sizes = encoder.describe(image)["sift"]
        distances = np.linalg.norm(values - atoms[0], axis=1)
        best = distances.argmin()
        pixels = patch(encoder.working_image(image), positions[best], int(sizes[best]))
        found.append((distances[best], pixels))
    np.testing.assert_array_equal(first, min(found, key=lambda each: each[0])[1])


def test_many_atoms(tested: Case) -> None:
    first, second, third = layers(tested.model, most=8)
    assert first.title == "Layer 1: 8 of 16 atoms, those with the largest weights"
    assert "4 of 6 atoms, those most used" in second.title
    assert "all 3 atoms" in third.title
