"""DenseSIFT equals the formulas, on every sort of image."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from ddlcn.errors import DDLCNError
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.upright import stand
from tests.oracles.sift import dense_sift, orientation_energy

TOLERANCE = 1e-5


def noise(h, w, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (h, w), dtype=np.uint8)


def assert_equals_oracle(found, grey, sizes=(16,), step=6, contrast_threshold=1.0):
    """`found` describes `grey`, which is the working image in [0, 1]."""
    truth = [dense_sift(grey, size, step, contrast_threshold) for size in sizes]
    assert found.values.dtype == found.positions.dtype == np.float32
    assert tuple(found.shape) == grey.shape
    assert_array_equal(found.sizes, np.repeat(sizes, [len(values) for values, _ in truth]))
    assert_array_equal(found.positions, np.concatenate([centres for _, centres in truth]))
    assert_allclose(found.values, np.concatenate([values for values, _ in truth]), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("step", [1, 3, 6, 8])
@pytest.mark.parametrize("size", [8, 12, 16, 24, 32])
def test_sizes_and_steps(size, step):
    image = noise(41, 38, seed=size)
    assert_equals_oracle(DenseSIFT(patch_size=size, step=step).transform(image), image / 255, (size,), step)


@pytest.mark.parametrize("shape", [(16, 16), (17, 33), (28, 28), (64, 16), (101, 57)])
def test_shapes(shape):
    image = noise(*shape)
    assert_equals_oracle(DenseSIFT().transform(image), image / 255)


@pytest.mark.parametrize("threshold", [0.01, 0.05, 1.0, 3.0])
def test_contrast_thresholds(photographs, threshold):
    image = photographs[0][:150, :130] // 4  # dim, so that every threshold parts the patches
    found = DenseSIFT(contrast_threshold=threshold).transform(image)
    assert_equals_oracle(found, image / 255, contrast_threshold=threshold)


def test_photographs(photographs):
    for photograph in photographs:
        image = photograph[50:250, 120:401]
        assert_equals_oracle(DenseSIFT().transform(image), image / 255)


def test_several_sizes_are_concatenated(photographs):
    image, sizes = photographs[1][:90, :111], (24, 8, 16)
    assert_equals_oracle(DenseSIFT(patch_size=sizes, step=5).transform(image), image / 255, sizes, step=5)


@pytest.mark.parametrize("level", [0, 100, 255])
def test_a_constant_image_has_edges_only_at_its_border(level):
    image = np.full((60, 60), level, np.uint8)
    found = DenseSIFT(step=4).transform(image)
    assert_equals_oracle(found, image / 255, step=4)
    inner = ((found.positions > 10) & (found.positions < 49)).all(1)
    assert inner.any()
    assert_allclose(found.values[inner], 0, atol=TOLERANCE)


def test_without_a_threshold_a_flat_patch_is_still_a_number():
    values = DenseSIFT(contrast_threshold=0.0).transform(np.full((60, 60), 77, np.uint8)).values
    assert np.isfinite(values).all()


def test_floats_in_the_unit_interval_are_taken_as_they_are():
    image = np.random.default_rng(1).random((40, 50))
    assert_equals_oracle(DenseSIFT().transform(image), image)


def resized(image, shape):
    return np.asarray(
        Image.fromarray((image / 255).astype(np.float32)).resize(shape[::-1], Image.Resampling.BICUBIC)
    )


def test_large_images_are_shrunk(photographs):
    found = DenseSIFT(max_side=100).transform(photographs[0])
    assert tuple(found.shape) == (67, 100)
    assert_equals_oracle(found, resized(photographs[0], found.shape))


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (15, 15), (8, 8), (20, 5)])
def test_small_images_are_enlarged(shape):
    image = noise(*shape)
    found = DenseSIFT(patch_size=(16, 12)).transform(image)
    assert min(found.shape) >= 16
    assert_equals_oracle(found, resized(image, found.shape), (16, 12))


@pytest.mark.parametrize(("min_side", "step"), [(30, 9), (40, 12), (60, 12), (20, 6)])
def test_min_side_enlarges_the_image_and_the_step_with_it(photographs, min_side, step):
    image = photographs[0][:20, :30]
    found = DenseSIFT(min_side=min_side).transform(image)
    assert tuple(found.shape) == (min_side, min_side * 3 // 2)
    assert_equals_oracle(found, resized(image, found.shape), step=step)


@pytest.mark.parametrize(("side", "step"), [(28, 3), (16, 2), (47, 5), (48, 6), (100, 6)])
def test_small_images_have_a_shorter_step(photographs, side, step):
    image = photographs[0][:side, : side + 9]
    assert_equals_oracle(DenseSIFT(min_steps=8).transform(image), image / 255, step=step)


def test_the_step_is_not_shrunk_with_the_image(photographs):
    image = photographs[0][:100, :60]
    found = DenseSIFT(max_side=50, min_side=10).transform(image)
    assert_equals_oracle(found, resized(image, found.shape))


def test_descriptors_are_short_or_of_unit_norm(photographs):
    values = DenseSIFT(contrast_threshold=1.0).transform(photographs[1]).values
    norms = np.linalg.norm(values.astype(float), axis=1)
    assert values.min() >= 0
    assert ((norms < 1) | (np.abs(norms - 1) < 1e-5)).all()


def test_the_layout_of_a_descriptor():
    """x-bin slowest, then y-bin, then angle: a lone vertical edge shows which axis is which."""
    image = np.full((16, 16), 255, np.uint8)
    image[:, :8] = 128
    cube = DenseSIFT().transform(image).values.reshape(4, 4, 8)  # x, y, angle
    assert cube[1:3, 1:3, 4].min() > 5 * cube[1:3, 1:3, [0, 2, 6]].max()  # correlation turns θ by π


def test_the_oracle_sees_angles():
    """For a plane I = x cos φ + y sin φ, θ = φ + π in all of the inside, whatever φ."""
    y, x = np.mgrid[:20, :20]
    for a in range(8):
        angle = 2 * np.pi * a / 8
        energy = orientation_energy(x * np.cos(angle) + y * np.sin(angle))[3:-3, 3:-3]
        assert_array_equal(energy.argmax(-1), (a + 4) % 8)


# ------------------------------------------------------------------------------------- density and upright


@pytest.mark.parametrize(("density", "step"), [(2.0, 3), (3.0, 2), (0.5, 12), (1.25, 5), (100.0, 1)])
def test_density_divides_the_step(photographs, density, step):
    image = photographs[0][:61, :50]
    assert_equals_oracle(DenseSIFT(density=density).transform(image), image / 255, step=step)


def test_density_divides_what_the_other_settings_made_of_the_step(photographs):
    image = photographs[0][:28, :31]
    few, more = (DenseSIFT(min_side=56, min_steps=7, density=d).transform(image) for d in (1, 2))
    assert len(more.values) > 3 * len(few.values)
    assert_equals_oracle(few, resized(image, few.shape), step=8)
    assert_equals_oracle(more, resized(image, more.shape), step=4)


@pytest.mark.parametrize("shape", [(30, 40), (90, 70)])
def test_upright_images_are_scaled_changed_and_stood(shape):
    image = np.zeros(shape, np.uint8)
    image[5:20, 7:11], image[9:13, 7:25] = 200, 250
    sift = DenseSIFT(patch_size=8, min_side=48, max_side=60, step=4, upright=(0.2, 0.2))
    grey, seen = (image / 255).astype(np.float32), []

    def mirror(scaled):
        seen.append(scaled)
        return np.ascontiguousarray(scaled[:, ::-1])

    for change in (None, mirror):
        found = sift.transform(image, change=change)
        scaled = resized(image, found.shape)
        stood = stand(scaled if change is None else scaled[:, ::-1].copy(), (0.2, 0.2))
        assert np.abs(stood - scaled).max() > 0.5
        assert_allclose(sift.resize(grey, change), stood, atol=1e-5)
        step = round(4 * max(min(found.shape) / min(shape), 1))
        assert_equals_oracle(found, stood, (8,), step=min(step, 6))
    assert_allclose(seen[0], scaled, atol=1e-6)


def test_blank_images_are_described_alike_upright_or_not():
    for image in (np.zeros((20, 30)), np.ones((20, 30))):
        plain, upright = (DenseSIFT(upright=size).transform(image) for size in (None, (0.2, 0.2)))
        assert_array_equal(plain.values, upright.values)


def test_but_changes_what_is_named_and_nothing_else():
    given = DenseSIFT((8, 16), 5, 9, 200, 30, 0.3, 2.0, (0.2, 0.1))
    assert given.but().get_params() == given.get_params()
    assert given.but() is not given
    for name, value in {"patch_size": 8, "density": 4.0, "upright": None, "min_side": None}.items():
        assert given.but(**{name: value}).get_params() == given.get_params() | {name: value}
    assert given.density == 2.0
    with pytest.raises(TypeError):
        given.but(colour=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"density": 0},
        {"density": -1.0},
        {"density": float("nan")},
        {"upright": (0.2, 0.0)},
        {"upright": (-1, 1)},
    ],
)
def test_strange_densities_and_sizes(settings):
    with pytest.raises(DDLCNError, match="must be positive"):
        DenseSIFT(**settings).transform(noise(20, 20))
