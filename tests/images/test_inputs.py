"""What users give as images: counted, indexed, and told apart by content."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn.errors import DDLCNError, ImageError
from ddlcn.images import absolute, as_images
from ddlcn.images.inputs import content_digest

GREY = np.random.default_rng(0).integers(0, 256, (12, 9), dtype=np.uint8)


@pytest.mark.parametrize("shape", [(5, 12, 9), (5, 12, 9, 1), (5, 12, 9, 3), (5, 12, 9, 4), (1, 8, 8), (5, 3, 8)])
def test_stacks(shape):
    stack = np.zeros(shape)
    assert as_images(stack) is stack


@pytest.mark.parametrize("images", [[GREY, GREY], (GREY,), ["a.png"], [Path("a"), GREY], np.array(["a.png", "b.png"])])
def test_sequences(images):
    assert len(as_images(images)) == len(as_images(iter(images))) == len(images)
    for nothing in ([], np.empty((0, 8, 8)), iter(())):
        with pytest.raises(DDLCNError, match="no images: give at least one"):
            as_images(nothing)


RGB, RGBA = np.zeros((50, 40, 3)), np.zeros((665, 40, 4), np.uint8)


@pytest.mark.parametrize("image", [RGB, RGBA, GREY, "a.png", Path("a.png"), Image.fromarray(GREY), np.array(5), 5])
def test_one_image_is_an_error(image):
    with pytest.raises(DDLCNError, match=r"give a list of images, as in \["):
        as_images(image)


def test_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = absolute(["a.png", Path("b") / ".." / "c.png", GREY])
    assert found[:2] == [Path.cwd() / "a.png", Path.cwd() / "c.png"]
    assert found[2] is GREY
    assert absolute(np.array(["a.png"])) == [Path.cwd() / "a.png"]
    stack = np.zeros((2, 3, 3))
    assert absolute(stack) is stack


def test_digest_is_that_of_content(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes())
    os.utime(tmp_path / "b.png", (0, 0))
    assert content_digest(tmp_path / "a.png") == content_digest(str(tmp_path / "b.png"))
    assert content_digest(GREY) == content_digest(np.asfortranarray(GREY)) == content_digest(Image.fromarray(GREY))
    others = [GREY.T, GREY.astype(float), GREY[::-1], GREY.reshape(9, 12), np.zeros_like(GREY)]
    assert len({content_digest(each) for each in (GREY, *others)}) == 6
    for wrong in (tmp_path, tmp_path / "gone.png", [[1, 2], [3]], object()):
        with pytest.raises(ImageError, match=r"is a folder|does not exist|is no image; give a path or an array"):
            content_digest(wrong)
