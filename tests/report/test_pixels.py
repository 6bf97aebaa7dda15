"""Images for people."""

import numpy as np

from ddlcn.report.pixels import full_contrast, patch, read_original
from tests.report.conftest import Case


def test_patch_at_the_border() -> None:
    found = patch(np.ones((20, 20, 3)), np.array([7.5, 7.5]), 16, margin=2)
    assert found.shape == (20, 20, 3)
    assert found[:2].max() == 0
    assert patch(np.ones((20, 20)), np.array([7.5, 7.5]), 16).all()


def test_full_contrast() -> None:
    grey = full_contrast(np.array([[0.4, 0.5], [0.45, 0.5]]))
    assert (grey.min(), grey.max()) == (0, 1)
    coloured = full_contrast(np.array([[[0.3, 0.2, 0.2], [0.4, 0.3, 0.3]]]))
    np.testing.assert_allclose(coloured.mean(axis=(0, 1)), 0.5 + np.array([2, -1, -1]) / 30, atol=0.06)
    assert np.ptp(coloured[..., 1]) > 0.9


def test_colour(tested: Case) -> None:
    red = np.full((20, 20, 3), [255, 0, 0], np.uint8)
    assert read_original(tested.model, red, colour=True)[9, 9].tolist() == [255, 0, 0]
    assert read_original(tested.model, red).shape == (20, 20)
