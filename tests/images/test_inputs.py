"""What users give as images: counted, indexed, and told apart by content."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn.errors import DDLCNError, ImageError
from ddlcn.images import ImageSet, absolute, as_images, read_colour, read_grey
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


@pytest.mark.parametrize(
    "image",
    [RGB, RGBA, GREY, "a.png", Path("a.png"), Image.fromarray(GREY), np.array(5), 5, b"\x89PNG", io.BytesIO(b"x")],
)
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


class Frame(dict):
    """Like a data frame."""

    columns = ("path", "label")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Frame(path=["a.png"]), "a Frame has columns: give the one with the images, as in X['path']"),
        ({"a": 1}, "a dict has columns"),
        (np.zeros((5, 3, 20, 20)), "has its channels first: use numpy.moveaxis(X, 1, -1)"),
        (["a.png", float("nan")], "image number 1 is nan: give a path or an image, or leave it out"),
        ([None], "image number 0 is None"),
        ([io.StringIO("a.png")], "image number 0 is a file that is open as text: open it with mode 'rb'"),
    ],
)
def test_refused_in_one_line(given, told):
    with pytest.raises(DDLCNError) as error:
        as_images(given)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_channels_first():
    with pytest.raises(ImageError, match=r"has its channels first; use numpy.moveaxis\(image, 0, -1\)"):
        read_grey(np.zeros((3, 20, 20)))


def test_image_sets_and_data_sets_of_scikit_learn():
    assert as_images(ImageSet.of(["a.png", "b.png"], [0, 1])) == ["a.png", "b.png"]
    assert as_images(load_digits()).shape == (1797, 8, 8)


def test_files_and_bytes(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    with open(tmp_path / "a.png", "rb") as file:
        file.read(5)
        assert as_images([file, io.BytesIO(content), bytearray(content), memoryview(content), content]) == [content] * 5
    assert content_digest(content) == content_digest(tmp_path / "a.png")
    np.testing.assert_array_equal(read_grey(content), read_grey(tmp_path / "a.png"))
    with pytest.raises(ImageError, match="an image of 3 bytes is no image of a known kind"):
        read_grey(b"xyz")


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"])
def test_pillow_images_are_as_their_files(tmp_path, mode):
    colours = np.random.default_rng(0).integers(0, 256, (12, 9, 3), dtype=np.uint8)
    wide = {"I;16": GREY.astype(np.uint16) * 256, "I": GREY.astype(np.int32) * 256, "F": GREY.astype(np.float32)}
    image = Image.fromarray(wide[mode]) if mode in wide else Image.fromarray(colours).convert(mode)
    path = tmp_path / f"a.{'tif' if mode in ('CMYK', 'YCbCr', 'F', 'I') else 'png'}"
    image.save(path)
    with Image.open(path) as opened:
        (given,) = as_images([opened])
        np.testing.assert_allclose(read_grey(given), read_grey(path), atol=1e-6)
        np.testing.assert_array_equal(read_colour(opened), read_colour(path))


def test_pillow_image_is_turned_by_its_tag(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as opened:
        assert as_images([opened])[0].shape == read_grey(tmp_path / "a.png").shape == GREY.T.shape


def test_tensors():
    torch = pytest.importorskip("torch")
    pixels = np.random.default_rng(0).random((5, 3, 12, 9)).astype(np.float32)
    stack = torch.tensor(pixels, requires_grad=True)
    np.testing.assert_array_equal(as_images(stack), np.moveaxis(pixels, 1, -1))
    found = as_images([stack[0], stack[1, 0]])
    assert [each.shape for each in found] == [(12, 9, 3), (12, 9)]
    np.testing.assert_array_equal(read_grey(stack[0]), read_grey(np.moveaxis(pixels[0], 0, -1)))
    assert as_images(stack[:, 0]).shape == (5, 12, 9)
    with pytest.raises(DDLCNError, match=r"a tensor of shape \(3, 12, 9\) is one image: give a list of images"):
        as_images(stack[0])


def test_columns_of_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"path": ["a.png", "b.png"], "label": ["x", "y"]})
    assert as_images(frame["path"]) == ["a.png", "b.png"]
    with pytest.raises(DDLCNError, match="a DataFrame has columns"):
        as_images(frame)
