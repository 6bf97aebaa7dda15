"""Augmentation: what a change does to pixels, and which image gets which change."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.errors import DDLCNError
from ddlcn.preprocessing.augmentation import POLICIES, Augmentation, check_policy, copies
from tests.oracles.deskew import interpolate

GREY = np.random.default_rng(0).random((12, 9)).astype(np.float32)


def sampled(grey, change):
    """Each pixel of the copy, read where it came from, by the four pixels around that place."""
    height, width = grey.shape
    angle, out = np.deg2rad(change.rotation), np.empty_like(grey)
    for row in range(height):
        for column in range(width):
            y = row - (height - 1) / 2 - change.down * min(grey.shape)
            x = column - (width - 1) / 2 - change.right * min(grey.shape)
            y, x = y * np.cos(angle) - x * np.sin(angle), y * np.sin(angle) + x * np.cos(angle)
            y = np.clip(y / change.scale + (height - 1) / 2, 0, height - 1)
            x = np.clip(x / change.scale + (width - 1) / 2, 0, width - 1)
            out[row, column] = interpolate(grey, y, x, None)
    return out


@pytest.mark.parametrize("change", POLICIES["affine"])
def test_affine_equals_oracle(change):
    assert_allclose(change.apply(GREY), sampled(GREY, change), atol=1e-5)


def test_exact_changes():
    grey = GREY[:9]
    assert_array_equal(Augmentation(flip=True).apply(GREY), GREY[:, ::-1])
    assert_array_equal(Augmentation().apply(GREY), GREY)
    assert_allclose(Augmentation(rotation=90).apply(grey), np.rot90(grey, -1), atol=1e-5)
    assert_allclose(Augmentation(down=2 / 9).apply(grey)[2:], grey[:-2], atol=1e-5)
    assert_allclose(Augmentation(down=2 / 9).apply(grey)[:2], grey[[0, 0]], atol=1e-5)


@pytest.mark.parametrize("shape", [(28, 28), (20, 45)])
def test_elastic_displacements(shape):
    """Read off images of the rows and of the columns, away from the border, where places are cut off."""
    ramps, side = [ramp.astype(np.float32) for ramp in np.indices(shape)], min(shape)
    inner, sizes = np.s_[:, 4:-4, 4:-4], []
    for change in POLICIES["elastic"][:60]:
        moved = np.array([change.apply(ramp) - ramp for ramp in ramps])[inner]
        sizes.append((moved**2).mean())
        assert np.abs(moved).max() > 0.01 * side
        assert max(np.abs(np.diff(moved, axis=axis)).max() for axis in (1, 2)) < 1  # no pixel passes its neighbour
    assert np.sqrt(np.mean(sizes)) == pytest.approx(0.022 * side, rel=0.25)


def test_copies_are_dealt_evenly_within_each_class():
    y = np.tile(np.arange(8), 40)  # classes in turn, as many as there are changes
    images, changes = copies("affine", y)
    assert len(images) == len(changes) == 3 * len(y)  # 1,000 / 320
    assert_array_equal(images[: len(y)], np.arange(len(y)))
    number = np.array([POLICIES["affine"].index(change) for change in changes])
    for c in range(8):
        assert_array_equal(np.bincount(number[y[images] == c], minlength=8), 15)
    for i in (0, 100):
        assert len(set(number[images == i])) == 3


@pytest.mark.parametrize(("n", "affine", "elastic"), [(10, 8, 8), (125, 8, 8), (250, 4, 4), (5000, 1, 1)])
def test_number_of_copies(n, affine, elastic):
    y = np.zeros(n, int)
    found = {policy: len(copies(policy, y)[0]) / n for policy in POLICIES}
    assert found == {"none": 0, "affine": affine, "flip": 1, "elastic": elastic}


def test_copies_of_added_images():
    """One image that is added to many gets as many copies as each of these."""
    assert len(copies("affine", np.array([0]), total=250)[0]) == 4


def test_unknown_policy():
    for known in (*POLICIES, "auto"):
        check_policy(known)
    with pytest.raises(DDLCNError, match="augmentation='mirrored': unknown; choose one of 'none', 'affine'"):
        check_policy("mirrored")
