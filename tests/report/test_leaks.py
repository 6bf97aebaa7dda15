"""Duplicates are found whatever was done to them, and only duplicates."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.report import find_leaks
from tests.report.conftest import Case, bars


def test_copies_are_found_and_others_are_not(tested: Case, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    scene = np.kron(rng.integers(40, 200, (8, 8)), np.ones((16, 16))) + rng.integers(0, 20, (128, 128))
    known = [Image.fromarray(np.roll(scene, 16 * i, axis=1).astype(np.uint8)) for i in range(2)]
    known[0].save(tmp_path / "original.png")
    known[0].save(tmp_path / "other format.bmp")
    known[0].save(tmp_path / "lossy.jpg", quality=85)
    known[0].resize((200, 200), Image.Resampling.BICUBIC).save(tmp_path / "larger.png")
    known[0].point(lambda value: value * 0.8 + 20).save(tmp_path / "brighter.png")
    known[1].save(tmp_path / "another.png")
    Image.new("L", (50, 50), 90).save(tmp_path / "flat.png")
    names = ["other format.bmp", "lossy.jpg", "larger.png", "brighter.png", "another.png", "flat.png"]
    train = ImageSet.of([str(tmp_path / "original.png")], ["a"])
    test = ImageSet.of([str(tmp_path / name) for name in names], ["a"] * 6)
    leaks = find_leaks(tested.model, train, test)
    assert {names[leak.test]: leak.exact for leak in leaks} == {
        "other format.bmp": True,
        "lossy.jpg": False,
        "larger.png": False,
        "brighter.png": False,
    }
    assert leaks[0].likeness == 1.0
    assert all(0.999 <= leak.likeness <= 1 for leak in leaks)


def test_blocks_miss_nothing(tested: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddlcn.report.leaks._BLOCK", 7)
    rng = np.random.default_rng(0)
    images = np.array([bars(rng, 0) for _ in range(30)])
    train, test = ImageSet.of(images, ["a"] * 30), ImageSet.of(images[::-1].copy(), ["a"] * 30)
    assert {(leak.test, leak.train) for leak in find_leaks(tested.model, train, test)} == {
        (i, 29 - i) for i in range(30)
    }


@pytest.mark.data
def test_aligned_faces_of_one_person_are_no_duplicates(tested: Case, data_dir: Path) -> None:
    files = sorted((data_dir / "extended_yale_b" / "CroppedYale" / "yaleB01").glob("*_P00A*.pgm"))
    faces = ImageSet.of([str(file) for file in files], ["a"] * len(files))
    assert find_leaks(tested.model, *faces.split(0.5)) == []


def test_a_model_of_rows_looks_for_leaks_in_rows() -> None:
    rows = np.random.default_rng(0).random((12, 20 * 20))
    labels = np.repeat([0, 1], 6)
    model = DDLCNClassifier(atoms_per_class=2, deeper_atoms=(), image_shape=(20, 20)).fit(rows, labels)
    found = find_leaks(model, ImageSet.of(rows, labels), ImageSet.of(rows[3:5], labels[3:5]))
    assert [(leak.test, leak.train, leak.exact) for leak in found] == [(0, 3, True), (1, 4, True)]
