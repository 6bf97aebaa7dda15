"""PreparedImage: one decoding, the same augmentation and deskewing for grey and colour, at any size."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from ddlcn.errors import ImageError
from ddlcn.images import read_grey
from ddlcn.images.decode import LUMA
from ddlcn.preprocessing.augmentation import Augmentation
from ddlcn.preprocessing.deskew import deskew
from ddlcn.preprocessing.prepared import PreparedImage


@pytest.fixture
def pixels():
    image = np.full((30, 40, 3), 250, np.uint8)
    image[5:20, 9:13], image[9:13, 9:25] = [200, 30, 30], [20, 30, 190]
    return image


def test_own_size(pixels):
    image = PreparedImage(pixels)
    assert image.shape == (30, 40)
    assert_array_equal(image.grey(), read_grey(pixels))
    assert_array_equal(image.rgb(), pixels.astype(np.float32) / 255)
    assert image.rgb() is image.rgb()


def test_resized(pixels):
    image = PreparedImage(pixels)
    expected = Image.fromarray(read_grey(pixels)).resize((64, 48), Image.Resampling.BICUBIC)
    assert_array_equal(image.grey((48, 64)), np.asarray(expected))
    assert_allclose(image.rgb((48, 64)) @ np.array(LUMA), image.grey((48, 64)).clip(0, 1), atol=0.03)


def test_value_range_and_grey_arrays():
    image = PreparedImage(np.array([[0.0, 8.0], [16.0, 4.0]]), (0.0, 16.0))
    assert_allclose(image.grey(), [[0, 0.5], [1, 0.25]])
    assert_allclose(image.rgb()[..., 1], image.grey(), atol=1 / 255)


@pytest.mark.parametrize("augmentation", [None, Augmentation(flip=True), Augmentation(rotation=8, down=0.05)])
@pytest.mark.parametrize("size", [None, (0.2, 0.15)])
def test_colours_move_as_grey_does(pixels, augmentation, size):
    image = PreparedImage(pixels, augmentation=augmentation, deskewed_size=size)
    grey = read_grey(pixels)
    grey = grey if augmentation is None else augmentation.apply(grey)
    grey = grey if size is None else deskew(grey, size)
    assert_array_equal(image.grey(), grey)
    assert image.rgb().shape == (30, 40, 3)
    assert_allclose(image.rgb() @ np.array(LUMA, np.float32), grey, atol=1e-5)


def test_file_is_decoded_once(tmp_path, pixels):
    path = tmp_path / "image.png"
    Image.fromarray(pixels).save(path)
    image = PreparedImage(path)
    path.unlink()
    assert_array_equal(image.grey(), read_grey(pixels))
    assert_array_equal(image.rgb(), pixels.astype(np.float32) / 255)
    with pytest.raises(ImageError, match=r"image.png' does not exist"):
        PreparedImage(path)


def photograph(path, height, width):
    rng = np.random.default_rng(0)
    small = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    small.resize((width, height), Image.Resampling.BICUBIC).save(path)
    return path


def resized(path, height, width):
    return np.asarray(Image.fromarray(read_grey(path)).resize((width, height), Image.Resampling.BICUBIC))


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_large_photograph(tmp_path, name):
    """It is shrunk before it is mixed to grey, but not for large working sizes."""
    path = photograph(tmp_path / name, 2249, 2998)
    image = PreparedImage(path)
    assert image.shape == (2249, 2998)
    assert 700 <= min(image.shape_for(200)) < 1400
    assert_allclose(image.grey((150, 200)), resized(path, 150, 200), atol=0.01)
    assert_array_equal(image.grey((1500, 2000)), resized(path, 1500, 2000))


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_photograph_that_is_not_shrunk(tmp_path, name):
    path = photograph(tmp_path / name, 1399, 1400)
    assert_array_equal(PreparedImage(path).grey((199, 200)), resized(path, 199, 200))


def test_key_tells_images_apart(pixels):
    """Equal pixels have equal keys; every setting changes the key."""
    given = {"value_range": (0.0, 2.0), "augmentation": Augmentation(flip=True), "deskewed_size": (0.2, 0.2)}
    keys = [PreparedImage(pixels, **{name: value}).key for name, value in given.items()]
    keys += [PreparedImage(each).key for each in (pixels, pixels[::-1], pixels[..., 0])]
    assert len(set(keys)) == len(keys)
    assert PreparedImage(pixels.copy()).key == PreparedImage(pixels).key
