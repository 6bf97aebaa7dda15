"""Atoms of colour statistics as patches."""

import numpy as np

from ddlcn.descriptors.color import ColorStatistics
from ddlcn.report.colors import color_patch


def test_inverse_of_the_descriptor() -> None:
    """A descriptor's colours come back, but for brightness, which it has relative to the patch."""
    cells = np.random.default_rng(0).random((4, 4, 3))
    image = cells.repeat(4, axis=0).repeat(4, axis=1)
    image = (255 * image).astype(np.uint8) / 255
    [values] = ColorStatistics(patch_size=16).describe(image).values
    found = color_patch(values / 10)[6::12, 6::12]
    expected = image[::4, ::4]
    np.testing.assert_allclose(found, 0.5 + 0.25 * (expected - expected.mean(axis=2).mean()), atol=1e-6)
