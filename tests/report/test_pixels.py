"""Images for people."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNError
from ddlcn.report.pixels import full_contrast, patch, read_original, read_small
from tests.report.conftest import Case


def test_patch_at_the_border() -> None:
    found = patch(np.ones((20, 20, 3)), np.array([7.5, 7.5]), 16, margin=2)
    assert found.shape == (20, 20, 3)
    assert found[:2].max() == 0
    assert patch(np.ones((20, 20)), np.array([7.5, 7.5]), 16).all()


def test_full_contrast() -> None:
    grey = full_contrast(np.array([[0.4, 0.5], [0.45, 0.5]]))
    assert (grey.min(), grey.max()) == (0, 1)
    coloured = full_contrast(np.array([[[0.3, 0.2, 0.2], [0.4, 0.3, 0.3]]]))
    np.testing.assert_allclose(coloured.mean(axis=(0, 1)), 0.5 + np.array([2, -1, -1]) / 30, atol=0.06)
    assert np.ptp(coloured[..., 1]) > 0.9


def test_colour(tested: Case) -> None:
    red = np.full((20, 20, 3), [255, 0, 0], np.uint8)
    assert read_original(tested.model, red, colour=True)[9, 9].tolist() == [255, 0, 0]
    assert read_original(tested.model, red).shape == (20, 20)


def test_large_files_are_shrunk(tested: Case, tmp_path: Path) -> None:
    """But keep the pixels that are asked for; arrays keep all."""
    pixels = np.kron(np.random.default_rng(0).integers(0, 255, (10, 15, 3), np.uint8), np.ones((64, 64, 1), np.uint8))
    for name in ("photo.jpg", "photo.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    small = read_small(tested.model, tmp_path / "photo.jpg", 100, colour=True)
    assert small.shape == (160, 240, 3)
    np.testing.assert_allclose(small[8::16, 8::16].astype(int), pixels[32::64, 32::64], atol=40)
    assert read_small(tested.model, tmp_path / "photo.png", 100, colour=True).shape == (107, 160, 3)
    np.testing.assert_array_equal(read_small(tested.model, pixels, 100, colour=True), pixels)
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    with pytest.raises(DDLCNError, match=r"bad.jpg' is no image of a known kind"):
        read_small(tested.model, tmp_path / "bad.jpg", 100)
