"""DenseSIFT equals the formulas, for every kind of image."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from ddlcn.errors import DDLCNError
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.augmentation import Augmentation
from ddlcn.preprocessing.deskew import deskew
from ddlcn.preprocessing.prepared import PreparedImage
from tests.oracles.sift import dense_sift, orientation_energy

TOLERANCE = 1e-5


def noise(h, w, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (h, w), dtype=np.uint8)


def checked(image, expected_step=None, augmentation=None, deskewed_size=None, **settings):
    """Descriptors of an image of bytes, once they equal the oracle's at working size with a step."""
    prepared = PreparedImage(image, augmentation=augmentation, deskewed_size=deskewed_size)
    found, sizes = DenseSIFT(**settings).describe(prepared), settings.get("patch_size", 16)
    sizes, step = sizes if isinstance(sizes, tuple) else (sizes,), expected_step or settings.get("step", 6)
    grey = Image.fromarray((image / 255).astype(np.float32))
    grey = np.asarray(grey if found.shape == image.shape else grey.resize(found.shape[::-1], Image.Resampling.BICUBIC))
    grey = grey if augmentation is None else augmentation.apply(grey)
    grey = grey if deskewed_size is None else deskew(grey, deskewed_size)
    truth = [dense_sift(grey, size, step, settings.get("contrast_threshold", 1.0)) for size in sizes]
    assert found.values.dtype == found.positions.dtype == np.float32
    assert_array_equal(found.sizes, np.repeat(sizes, [len(values) for values, _ in truth]))
    assert_array_equal(found.positions, np.concatenate([centres for _, centres in truth]))
    assert_allclose(found.values, np.concatenate([values for values, _ in truth]), rtol=0, atol=TOLERANCE)
    return found


@pytest.mark.parametrize("step", [1, 3, 6, 8])
@pytest.mark.parametrize("size", [8, 12, 16, 24, 32, (24, 8, 16)])
def test_sizes_and_steps(size, step):
    for shape in ((41, 38), (32, 33), (64, 32)):
        checked(noise(*shape), patch_size=size, step=step)


@pytest.mark.parametrize("threshold", [0.01, 0.05, 1.0, 3.0])
def test_photographs_and_contrast_thresholds(photographs, threshold):
    for photograph in photographs:
        checked(photograph[50:200, 120:261] // 4, contrast_threshold=threshold)  # dim, so that each parts the patches
    norms = np.linalg.norm(DenseSIFT().describe(photographs[1]).values.astype(float), axis=1)
    assert ((norms < 1) | (np.abs(norms - 1) < 1e-5)).all()


@pytest.mark.parametrize("level", [0, 100, 255])
def test_constant_image(level):
    image = np.full((60, 60), level, np.uint8)
    found = checked(image, step=4)
    inner = ((found.positions > 10) & (found.positions < 49)).all(1)
    assert inner.any()
    assert_allclose(found.values[inner], 0, atol=TOLERANCE)
    assert np.isfinite(DenseSIFT(contrast_threshold=0.0).describe(image).values).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (15, 15), (8, 8), (20, 5)])
def test_image_smaller_than_a_patch(shape):
    assert min(checked(noise(*shape), patch_size=(16, 12)).shape) >= 16


@pytest.mark.parametrize(("min_side", "step"), [(30, 9), (40, 12), (60, 12), (20, 6)])
def test_min_side_scales_the_step(photographs, min_side, step):
    assert checked(photographs[0][:20, :30], step, min_side=min_side).shape == (min_side, min_side * 3 // 2)


@pytest.mark.parametrize(("side", "step"), [(28, 3), (16, 2), (47, 5), (48, 6), (100, 6)])
def test_min_steps(photographs, side, step):
    checked(photographs[0][:side, : side + 9], step, min_steps=8)


def test_max_side_leaves_the_step(photographs):
    assert checked(photographs[0], max_side=100).shape == (67, 100)
    assert checked(photographs[0][:100, :60], max_side=50, min_side=10).shape == (50, 30)


def test_steps_that_are_the_same_in_a_small_image():
    """An image of 8 pixels is enlarged to 72, where both steps are 12: it is described once."""
    patches = {"patch_size": (16, 32), "min_side": 72, "contrast_threshold": 0.1}
    small, large = (PreparedImage(np.random.default_rng(0).random((side, side))) for side in (8, 72))
    for image, same in ((small, True), (large, False)):
        found = [image.described(DenseSIFT(step=step, **patches)) for step in (8, 12)]
        assert (found[0] is found[1]) == same
    higher = small.described(DenseSIFT(step=12, **patches | {"contrast_threshold": 100.0}))
    assert (higher.values != small.described(DenseSIFT(step=12, **patches)).values).any()


@pytest.mark.parametrize(("shape", "step"), [((30, 40), 6), ((90, 70), 6)])
def test_warp_is_applied_at_working_size(shape, step):
    image = np.zeros(shape, np.uint8)
    image[5:20, 7:11], image[9:13, 7:25] = 200, 250
    plain = checked(image, step, patch_size=8, min_side=48, max_side=60).values
    for warp in ((None, (0.2, 0.2)), (Augmentation(flip=True), None), (Augmentation(rotation=20), (0.2, 0.2))):
        found = checked(image, step, *warp, patch_size=8, min_side=48, max_side=60)
        assert np.abs(found.values - plain).max() > 0.1


def test_layout_of_a_descriptor():
    """x-bin slowest, then y-bin, then angle: a lone vertical edge shows which axis is which."""
    image = np.full((16, 16), 255, np.uint8)
    image[:, :8] = 128
    cube = DenseSIFT().describe(image).values.reshape(4, 4, 8)  # x, y, angle
    assert cube[1:3, 1:3, 4].min() > 5 * cube[1:3, 1:3, [0, 2, 6]].max()  # correlation turns θ by π


def test_oracle_angles():
    """For a plane I = x cos φ + y sin φ, θ = φ + π in all of the inside, whatever φ."""
    y, x = np.mgrid[:20, :20]
    for a in range(8):
        angle = 2 * np.pi * a / 8
        energy = orientation_energy(x * np.cos(angle) + y * np.sin(angle))[3:-3, 3:-3]
        assert_array_equal(energy.argmax(-1), (a + 4) % 8)


INVALID = {
    "patch_size=3 of DenseSIFT: must be a whole number from 4 to 4096": {"patch_size": 3},
    "or a sequence of 1 to 16": {"patch_size": ()},
    "patch_size=400: must be at most max_side=300": {"patch_size": 400},
    "step=0 of DenseSIFT: must be a whole number from 1": {"step": 0},
}


@pytest.mark.parametrize("message", INVALID)
def test_invalid_parameters(message):
    with pytest.raises(DDLCNError, match=message):
        DenseSIFT(**INVALID[message]).describe(noise(20, 20))


def test_too_many_patches_or_pixels():
    with pytest.raises(DDLCNError, match="raise step or lower max_side=3000"):
        DenseSIFT(step=1, max_side=3000).describe(np.zeros((3000, 3000), np.uint8))
    with pytest.raises(DDLCNError, match="lower min_side or max_side=20000"):
        DenseSIFT(min_side=16_000, max_side=20_000).describe(noise(20, 20))
