"""Duplicates between training and test images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import ImageSet
from ddlcn.report import find_leaks
from tests.report.conftest import Case


def test_changed_copies(tested: Case, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    scene = np.kron(rng.integers(40, 200, (8, 8)), np.ones((16, 16))) + rng.integers(0, 20, (128, 128))
    known, other = (Image.fromarray(np.roll(scene, 16 * i, axis=1).astype(np.uint8)) for i in range(2))
    pictures = {
        "original.png": known,
        "same.bmp": known,
        "lossy.jpg": known,
        "larger.png": known.resize((200, 200), Image.Resampling.BICUBIC),
        "brighter.png": known.point(lambda value: value * 0.8 + 20),
        "other.png": other,
        "flat.png": Image.new("L", (50, 50), 90),
    }
    for name, picture in pictures.items():
        picture.save(tmp_path / name, quality=85)
    train, *test = (tmp_path / name for name in pictures)
    leaks = find_leaks(tested.model, ImageSet.of([train], ["a"]), ImageSet.of(test, ["a"] * 6))
    found = {test[leak.test].name: leak.exact for leak in leaks}
    assert found == {"same.bmp": True, "lossy.jpg": False, "larger.png": False, "brighter.png": False}
    assert leaks[0].similarity == 1.0
    assert all(0.999 <= leak.similarity <= 1 for leak in leaks)


def test_large_jpegs(tested: Case, tmp_path: Path) -> None:
    """They are compared at a smaller size, then pixel by pixel."""
    rng = np.random.default_rng(1)
    scene = Image.fromarray(rng.integers(0, 255, (12, 16, 3), np.uint8)).resize((800, 600), Image.Resampling.BICUBIC)
    scene.save(tmp_path / "train.jpg", quality=90)
    with Image.open(tmp_path / "train.jpg") as decoded:
        decoded.save(tmp_path / "same.png")
        changed = np.array(decoded)
    changed[300, 400] = 255 - changed[300, 400]
    Image.fromarray(changed).save(tmp_path / "one pixel.png")
    scene.save(tmp_path / "lossy.jpg", quality=50)
    test = [tmp_path / name for name in ("same.png", "one pixel.png", "lossy.jpg")]
    train = ImageSet.of([tmp_path / "train.jpg"], ["a"])
    leaks = find_leaks(tested.model, train, ImageSet.of(test, ["a"] * 3))
    assert {test[leak.test].name: leak.exact for leak in leaks} == {
        "same.png": True, "one pixel.png": False, "lossy.jpg": False,
    }  # fmt: skip


def test_flat_images(tested: Case) -> None:
    """They have nothing to compare but their pixels."""
    flat = [np.full((20, 20), value, np.uint8) for value in (10, 90)]
    leaks = find_leaks(tested.model, ImageSet.of(flat[:1], ["a"]), ImageSet.of(flat, ["a"] * 2))
    assert [(leak.test, leak.exact) for leak in leaks] == [(0, True)]


def test_identical_beside_similar(tested: Case) -> None:
    image = np.random.default_rng(0).integers(0, 200, (32, 32)).astype(np.uint8)
    train = ImageSet.of([image + 20, image + 1, image], ["a"] * 3)
    assert find_leaks(tested.model, train, ImageSet.of([image], ["a"]))[0][:2] == (0, 2)


def test_many_images(tested: Case) -> None:
    """They are compared in blocks."""
    images = np.random.default_rng(0).integers(0, 256, (1100, 8, 8), np.uint8)
    brighter = (0.8 * images[::-1] + 20).astype(np.uint8)
    train, test = ImageSet.of(images, ["a"] * 1100), ImageSet.of(brighter, ["a"] * 1100)
    found = {(leak.test, leak.train) for leak in find_leaks(tested.model, train, test)}
    assert found == {(i, 1099 - i) for i in range(1100)}


@pytest.mark.data
def test_faces_of_one_person(tested: Case, data_dir: Path) -> None:
    files = sorted((data_dir / "extended_yale_b" / "CroppedYale" / "yaleB01").glob("*_P00A*.pgm"))
    faces = ImageSet.of([str(file) for file in files], ["a"] * len(files))
    assert find_leaks(tested.model, *faces.split(0.5)) == []
