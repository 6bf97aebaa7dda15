"""Deskewing: a pixel-by-pixel oracle, and what must hold for any foreground on a uniform background."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import affine_transform, gaussian_filter

from ddlcn.preprocessing.deskew import background, deskew, deskewed_size, foreground, has_uniform_background
from tests.oracles import deskew as oracle

SIZE = (0.13, 0.12)


def strokes(seed=0, shape=(40, 40), level=0.0, blobs=6):
    """Smooth strokes well inside an image, so that interpolation loses little, on a background of some level."""
    rng = np.random.default_rng(seed)
    grey = np.zeros(shape)
    middle = np.array(shape) / 2
    for place in middle + rng.uniform(-0.18, 0.18, (blobs, 2)) * min(shape):
        grey[tuple(place.astype(int))] += rng.uniform(0.5, 1)
    grey = gaussian_filter(grey, 2.0)
    grey[grey < 1e-3] = 0
    return (level + (0.9 - level) * grey / grey.max()).astype(np.float32)


def warped(grey, matrix, shift=(0, 0)):
    """The foreground moved by an affine map about the middle of the image."""
    back, middle = np.linalg.inv(matrix), (np.array(grey.shape) - 1) / 2
    offset = middle - back @ (middle + shift)
    return affine_transform(grey, back, offset, order=1, mode="constant", cval=background(grey))


SHAPES = [(40, 40), (28, 45), (51, 30)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [SIZE, (0.02, 0.02), (3.0, 3.0), (0.2, 3.0)])  # the scale is bounded
def test_equals_oracle(shape, size):
    grey = warped(strokes(2, shape, level=0.3), [[1.1, 0], [0.3, 0.9]], (2, -1))
    for image in (grey, np.random.default_rng(0).random((17, 23)).astype(np.float32)):
        found = deskew(image, size)
        assert (found.shape, found.dtype) == (image.shape, np.float32)
        assert_allclose(found, oracle.deskew(image, size), atol=2e-5)
    assert_allclose(deskew(1 - grey, size), 1 - deskew(grey, size), atol=1e-5)  # dark on white
    found, (centre, spread) = foreground(grey), oracle.moments(grey, oracle.background(grey))
    assert background(grey) == oracle.background(grey) == pytest.approx(0.3)
    assert_allclose(found[:4], [*centre, spread[0, 1] / spread[0, 0], spread[0, 0] ** 0.5], atol=1e-5)
    assert found.width**2 == pytest.approx(np.linalg.det(spread) / spread[0, 0], rel=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shear", [-0.4, 0.4])
def test_centre_shear_and_size_of_a_deskewed_foreground(shape, seed, shear):
    grey = strokes(seed, shape)
    grey = warped(grey, [[1, 0], [shear - foreground(grey).shear, 1]], (3, 2))
    before, found = foreground(grey), foreground(deskew(grey, SIZE))
    assert before.shear == pytest.approx(shear, abs=0.05)
    assert_allclose([found.row, found.column], (np.array(shape) - 1) / 2, atol=0.1)
    assert found.shear == pytest.approx(0, abs=0.02)
    assert found.height == pytest.approx(SIZE[0] * min(shape), rel=0.03)
    halfway = (before.width * SIZE[1] * min(shape)) ** 0.5
    assert found.width == pytest.approx(halfway, rel=0.06)


@pytest.mark.parametrize("level", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (30, 30)])
def test_blank_images(level, shape):
    blank = np.full(shape, level, np.float32)
    assert foreground(blank) is None
    assert_array_equal(deskew(blank, SIZE), blank)
    assert not has_uniform_background(blank)
    for place in np.ndindex(*shape[:1], 1):  # dots, without height or width
        dot = blank.copy()
        dot[place] += 1
        assert np.isfinite(deskew(dot, SIZE)).all()


# -------------------------------------------------------------------------------------- uniform background


def test_background_may_vary_by_a_tenth():
    grey = strokes(0, level=0.2)
    assert has_uniform_background(grey)
    for edge in (np.s_[0, 3], np.s_[-1, 3], np.s_[3, 0], np.s_[3, -1]):
        for change, uniform in ((0.1, True), (0.2, False)):
            other = grey.copy()
            other[edge] += np.float32(change * np.ptp(grey) * 0.99)
            assert has_uniform_background(other) is uniform


def test_size_is_the_median_in_shorter_sides():
    images = [warped(strokes(n, shape), np.diag([1 + n / 9, 1])) for n, shape in enumerate(SHAPES)]
    found = [foreground(grey) for grey in images]
    sides = [min(grey.shape) for grey in images]
    expected = [np.median([each[i] / s for each, s in zip(found, sides, strict=True)]) for i in (3, 4)]
    assert_allclose(deskewed_size(iter(images), 3), 1.25 * np.array(expected))
    large = [np.kron(grey, np.ones((20, 20), np.float32)) for grey in images]  # measured at a lower resolution
    assert_allclose(deskewed_size(large, 3), deskewed_size(images, 3), rtol=0.03)


@pytest.mark.parametrize(("side", "wanted"), [(20, 25), (40, 50), (45, 50), (55, 55)])
def test_size_fills_most_of_an_image(side, wanted):
    """A bar of up to five sixths of the image is enlarged to that, by a quarter at most."""
    bar = np.zeros((60, 60), np.float32)
    bar[2 : 2 + side, 5:25] = 1
    height, width = deskewed_size([bar], 1)
    assert height * 60 * 12**0.5 == pytest.approx(wanted, rel=2e-3)
    assert width / height == pytest.approx(20 / side, rel=2e-3)


def test_a_tenth_may_have_another_background():
    rng = np.random.default_rng(0)
    good, noise = [strokes(n) for n in range(20)], rng.random((40, 40)).astype(np.float32)
    alone = deskewed_size(good[2:], 18)
    assert deskewed_size([noise, *good[2:], np.zeros((9, 9), np.float32)], 20) == alone
    assert deskewed_size([noise, noise, *good[3:], noise], 20) is None
    bar = np.zeros((20, 20), np.float32)
    bar[5:15, 10] = 1
    assert deskewed_size([bar] * 5, 5) is None  # it has no width
