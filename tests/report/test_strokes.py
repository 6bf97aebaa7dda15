"""Strokes are drawn along edges."""

import numpy as np
import pytest

from ddlcn import DenseSIFT
from ddlcn.report.strokes import strokes, svg_paths


def strongest(image: np.ndarray) -> np.ndarray:
    """The two ends of the strongest stroke of the middle patch, (x, y) from −1 to 1."""
    found = DenseSIFT(step=1).describe(image)
    middle = np.abs(found.positions - (np.array(image.shape) - 1) / 2).sum(axis=1).argmin()
    segments, strengths = strokes(found.values[middle])
    return 2 * segments[strengths.argmax()] - 1


@pytest.mark.parametrize("bright_side", [0, 45, 90, 135, 180, 225, 270, 315])
def test_along_the_edge_on_its_bright_side(bright_side: int) -> None:
    y, x = np.mgrid[:40, :40] - 19.5
    towards = np.array([np.cos(np.radians(bright_side)), np.sin(np.radians(bright_side))])
    start, end = strongest((x * towards[0] + y * towards[1] > 0).astype(float))
    assert max(np.abs(start).max(), np.abs(end).max()) <= 1
    assert abs((end - start) @ towards) < 1e-6 < np.linalg.norm(end - start)
    # the edge goes through the middle of the patch, between the cells of either side
    assert abs((start + end) / 2 @ towards) < 0.5


def test_empty_atom() -> None:
    segments, strengths = strokes(np.zeros(128))
    assert segments.shape == (0, 2, 2)
    assert strengths.shape == (0,)
    assert svg_paths(np.zeros(128)) == []
