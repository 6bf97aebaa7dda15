"""SIFT and colour side by side, each computed once per image."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ddlcn.descriptors.color import ColorStatistics
from ddlcn.descriptors.joint import JointDescriptor
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.prepared import PreparedImage

PATCHES = {"patch_size": (16, 24), "step": 8, "max_side": 60, "min_side": 40}


@pytest.fixture
def image():
    return np.random.default_rng(0).uniform(0, 1, (50, 70, 3))


def test_parts_side_by_side(image):
    found = JointDescriptor(**PATCHES, contrast_threshold=0.1).describe(image)
    sift, color = (
        DenseSIFT(**PATCHES, contrast_threshold=0.1).describe(image),
        ColorStatistics(**PATCHES).describe(image),
    )
    assert_array_equal(found.values, np.concatenate([sift.values, color.values], axis=1))
    for own, other in zip(found[1:], sift[1:], strict=True):
        assert_array_equal(own, other)


def test_without_colour_it_is_sift(image):
    joint = JointDescriptor(**PATCHES)
    grey = joint.for_grey()
    assert (joint.n_features, grey.n_features, joint.color) == (224, 128, True)
    assert grey.for_grey() is grey
    assert_array_equal(grey.describe(image).values, DenseSIFT(**PATCHES).describe(image).values)


def test_parts_are_described_once(image):
    prepared, described = PreparedImage(image), []

    class Counted(DenseSIFT):
        def describe(self, image):
            described.append(self)
            return super().describe(image)

    first = prepared.described(Counted(**PATCHES))
    assert prepared.described(Counted(**PATCHES)) is first
    prepared.described(Counted(**PATCHES | {"step": 9}))
    assert len(described) == 2
    sift = prepared.described(DenseSIFT(**PATCHES))
    assert prepared.described(JointDescriptor(**PATCHES, color=False)).values is sift.values
