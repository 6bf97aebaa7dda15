"""Figures stood upright: a pixel-by-pixel oracle, and what must hold of any figure on plain ground."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import affine_transform, gaussian_filter

from ddlcn.layers.upright import figure_of, ground_of, has_plain_ground, stand, typical
from tests.oracles import upright as oracle

SIZE = (0.13, 0.12)


def figure(seed=0, shape=(40, 40), ground=0.0, blobs=6):
    """Smooth strokes well inside a picture, so that interpolation loses little."""
    rng = np.random.default_rng(seed)
    grey = np.zeros(shape)
    middle = np.array(shape) / 2
    for place in middle + rng.uniform(-0.18, 0.18, (blobs, 2)) * min(shape):
        grey[tuple(place.astype(int))] += rng.uniform(0.5, 1)
    grey = gaussian_filter(grey, 2.0)
    grey[grey < 1e-3] = 0
    return (ground + (0.9 - ground) * grey / grey.max()).astype(np.float32)


def warped(grey, matrix, shift=(0, 0)):
    """The figure moved by an affine map about the middle of the picture."""
    back, middle = np.linalg.inv(matrix), (np.array(grey.shape) - 1) / 2
    offset = middle - back @ (middle + shift)
    return affine_transform(grey, back, offset, order=1, mode="constant", cval=float(ground_of(grey)))


SHAPES = [(40, 40), (28, 45), (51, 30)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_each_pixel_is_looked_up_where_it_came_from(shape, seed):
    grey = warped(figure(seed, shape, ground=0.1 * seed), [[1.1, 0], [0.3, 0.9]], (2, -1))
    found = stand(grey, SIZE)
    assert found.shape == shape
    assert found.dtype == np.float32
    assert_allclose(found, oracle.stand(grey, SIZE), atol=2e-5)


@pytest.mark.parametrize("size", [(0.02, 0.02), (3.0, 3.0), (0.2, 3.0)])
def test_no_figure_is_scaled_without_bounds(size):
    grey = figure(1)
    assert_allclose(stand(grey, size), oracle.stand(grey, size), atol=2e-5)


def test_noise_without_any_figure_is_looked_up_alike():
    grey = np.random.default_rng(0).random((17, 23)).astype(np.float32)
    assert_allclose(stand(grey, SIZE), oracle.stand(grey, SIZE), atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_moments_are_those_of_sums_over_all_pixels(shape):
    grey = warped(figure(2, shape, ground=0.3), [[1, 0], [0.4, 1]])
    found = figure_of(grey)
    (row, column), spread = oracle.moments(grey, oracle.ground(grey))
    assert ground_of(grey) == oracle.ground(grey) == pytest.approx(0.3)
    assert_allclose(found[:3], [row, column, spread[0, 1] / spread[0, 0]], atol=1e-5)
    assert found.height == pytest.approx(spread[0, 0] ** 0.5, abs=1e-5)
    assert found.width**2 == pytest.approx(np.linalg.det(spread) / spread[0, 0], rel=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_a_figure_that_stands_is_upright_in_the_middle_and_as_tall_as_is_typical(shape, seed):
    grey = warped(figure(seed, shape), [[1, 0], [0.35, 1]], (3, 2))
    before, found = figure_of(grey), figure_of(stand(grey, SIZE))
    assert abs(before.shear) > 0.1 or seed  # a figure may lean the other way by itself
    assert_allclose([found.row, found.column], (np.array(shape) - 1) / 2, atol=0.1)
    assert found.shear == pytest.approx(0, abs=0.02)
    assert found.height == pytest.approx(SIZE[0] * min(shape), rel=0.03)
    halfway = (before.width * SIZE[1] * min(shape)) ** 0.5
    assert found.width == pytest.approx(halfway, rel=0.05)


CHANGES = {
    "shifted": ([[1, 0], [0, 1]], (3, -2)),
    "sheared": ([[1, 0], [0.4, 1]], (0, 0)),
    "taller": ([[1.2, 0], [0, 1]], (0, 0)),
    "all": ([[0.9, 0], [-0.3, 1]], (1.5, 2.5)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("seed", range(3))
def test_a_figure_stands_as_it_did_before_it_was_moved(name, seed):
    grey = figure(seed)
    moved = warped(grey, *CHANGES[name])
    assert np.abs(moved - grey).max() > 0.2
    assert_allclose(stand(moved, SIZE), stand(grey, SIZE), atol=0.1)
    assert np.abs(stand(moved, SIZE) - stand(grey, SIZE)).mean() < 0.2 * np.abs(moved - grey).mean()


def test_a_broad_figure_stays_broader():
    grey = figure(1)
    widths = [figure_of(stand(warped(grey, np.diag([1, by])), SIZE)).width for by in (0.8, 1.25)]
    assert widths[1] / widths[0] == pytest.approx((1.25 / 0.8) ** 0.5, rel=0.05)


def test_standing_again_moves_only_what_was_half_done():
    """All but the width, which goes half of the way each time."""
    once = stand(warped(figure(0), [[1, 0], [0.3, 1]], (2, 2)), SIZE)
    found, before = figure_of(stand(once, SIZE)), figure_of(once)
    assert_allclose(found[:4], before[:4], atol=0.15)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dark_figure_on_white_ground_stands_like_its_negative(shape):
    grey = warped(figure(3, shape), [[1, 0], [0.3, 1]], (2, 1))
    assert ground_of(1 - grey) == 1
    assert_allclose(stand(1 - grey, SIZE), 1 - stand(grey, SIZE), atol=1e-5)


@pytest.mark.parametrize("level", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (30, 30)])
def test_blank_images_stay_as_they_are(level, shape):
    blank = np.full(shape, level, np.float32)
    assert figure_of(blank) is None
    assert_array_equal(stand(blank, SIZE), blank)
    assert not has_plain_ground(blank)


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 2)])
def test_lines_and_dots_are_borne(shape):
    """Figures of no height or no width."""
    for place in np.ndindex(shape):
        grey = np.zeros(shape, np.float32)
        grey[place] = 1
        assert np.isfinite(stand(grey, SIZE)).all()


# -------------------------------------------------------------------------------------------- plain ground


def test_plain_ground_may_vary_by_a_tenth():
    grey = figure(0, ground=0.2)
    assert has_plain_ground(grey)
    for change, plain in ((0.1, True), (0.2, False)):
        other = grey.copy()
        other[0, 5] += np.float32(change * np.ptp(grey) * 0.99)
        assert has_plain_ground(other) is plain
    for edge in (np.s_[0, 3], np.s_[-1, 3], np.s_[3, 0], np.s_[3, -1]):
        other = grey.copy()
        other[edge] = 1
        assert not has_plain_ground(other)


def test_typical_figures_are_medians_in_shorter_sides():
    pictures = [warped(figure(n, shape), np.diag([1 + n / 9, 1])) for n, shape in enumerate(SHAPES)]
    found = [figure_of(grey) for grey in pictures]
    sides = [min(grey.shape) for grey in pictures]
    expected = [np.median([each[i] / s for each, s in zip(found, sides, strict=True)]) for i in (3, 4)]
    assert_allclose(typical(iter(pictures), 3), expected)


def test_photographs_have_no_typical_figure_and_the_rest_is_not_looked_at(photographs):
    looked = []

    def pictures():
        for n in range(100):
            looked.append(n)
            yield (photographs[n % 2][n : n + 50, n : n + 60] / 255).astype(np.float32)

    assert typical(pictures(), 100) is None
    assert len(looked) == 11


def test_a_tenth_may_have_another_ground():
    rng = np.random.default_rng(0)
    good, noise = [figure(n) for n in range(20)], rng.random((40, 40)).astype(np.float32)
    alone = typical(good[2:], 18)
    assert typical([noise, *good[2:], np.zeros((9, 9), np.float32)], 20) == alone
    assert typical([noise, noise, *good[3:], noise], 20) is None


def test_figures_without_width_are_not_typical():
    bar = np.zeros((20, 20), np.float32)
    bar[5:15, 10] = 1
    assert typical([bar] * 5, 5) is None
