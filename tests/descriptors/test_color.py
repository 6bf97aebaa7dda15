"""ColorStatistics equals means and deviations pixel by pixel, and tells colour images from grey ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.descriptors.color import ColorStatistics, grey_by_class_score, has_color
from ddlcn.layers.sift import DenseSIFT
from tests.oracles.color import color_statistics


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(0).integers(0, 256, (45, 38, 3), dtype=np.uint8)


@pytest.mark.parametrize("step", [1, 5, 8])
@pytest.mark.parametrize("sizes", [(8,), (10,), (16, 24, 7)])
def test_equals_the_oracle(image, sizes, step):
    found = ColorStatistics(patch_size=sizes, step=step).describe(image)
    truth = np.concatenate([color_statistics(image / 255, size, step) for size in sizes])
    assert found.values.dtype == np.float32
    assert_allclose(found.values, truth, atol=1e-6)


def test_places_are_those_of_sift(image):
    grid = {"patch_size": (16, 24), "step": 7, "min_side": 64}
    found, sift = ColorStatistics(**grid).describe(image), DenseSIFT(**grid).describe(image)
    assert found.values.shape == (len(sift.values), ColorStatistics.n_features)
    assert found.shape == sift.shape
    assert_array_equal(found.positions, sift.positions)
    assert_array_equal(found.sizes, sift.sizes)


def test_brighter_image_has_the_same_descriptors(image):
    dark = image // 2
    values = [ColorStatistics().describe(each).values for each in (dark, dark + 60)]
    assert_allclose(*values, atol=1e-6)


def test_grey_image_has_no_chroma(image):
    values = ColorStatistics().describe(image[..., 0]).values.reshape(-1, 2, 16, 3)
    assert_allclose(values[..., :2], 0, atol=1e-6)
    assert values[..., 2].std() > 0.01


@pytest.mark.parametrize(("colored", "expected"), [(0, False), (3, False), (6, True), (100, True)])
def test_has_color(colored, expected):
    """A hundred pixels, some of them red, in JPEG's noise of chroma."""
    pixels = np.full((100, 3), 128, np.uint8) + np.random.default_rng(0).integers(0, 20, (100, 3), dtype=np.uint8)
    pixels[:colored] = [200, 40, 40]
    assert has_color(pixels.reshape(10, 10, 3)) == expected


def test_grey_by_class_score():
    y = np.repeat([0, 1, 2], [4, 4, 2])
    assert grey_by_class_score(y == 0, y) == 1
    assert grey_by_class_score(np.ones(10, bool), y) == 0
    assert grey_by_class_score(y == 2, y) == 0  # two images tell nothing
    assert grey_by_class_score(np.arange(10) % 2 == 0, y) == 0
    assert grey_by_class_score(np.array([True, False]), np.array([0, 1])) == 0
