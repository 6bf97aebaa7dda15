"""A SIFT atom as a drawing of edges: strokes along the edges of each of its 4 × 4 cells.

A descriptor holds gradient energy, angle fastest, then y-cell, then x-cell. An edge runs across its gradient;
its stroke lies a little to the bright side of the cell, so that a thin line shows as two strokes.
"""

import numpy as np

from ddlcn.kernels.sift import N_CELLS, N_ORIENTATIONS

_FAINT = 0.2  # strokes weaker than this share of the strongest are left out


def strokes(atom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return segments (m, 2, 2), two (x, y) ends each in the unit square with y down, and strengths (m,) up to 1.

    A gradient along x, from bright on the left to dark on the right, is a vertical stroke left of the middle:

    >>> atom = np.zeros(128)
    >>> atom[0] = 1
    >>> segments, strengths = strokes(atom)
    >>> segments.round(3).tolist(), strengths.tolist()
    ([[[0.088, 0.012], [0.088, 0.238]]], [1.0])
    """
    energy = np.abs(atom).reshape(N_CELLS, N_CELLS, N_ORIENTATIONS)
    energy = energy / max(float(energy.max()), 1e-12)
    x, y, angle = np.nonzero(energy > _FAINT)
    turn = 2 * np.pi * angle / N_ORIENTATIONS
    gradient = np.column_stack([np.cos(turn), np.sin(turn)])  # points to the dark side
    edge = np.column_stack([-gradient[:, 1], gradient[:, 0]])
    middle = np.column_stack([x, y]) + 0.5 - 0.15 * gradient
    ends = np.stack([middle - 0.45 * edge, middle + 0.45 * edge], axis=1) / N_CELLS
    return ends, energy[x, y, angle]


def svg_paths(atom: np.ndarray) -> list[tuple[str, float]]:
    """Return an atom as SVG path data of 100 × 100 units: (path, strength) for faint, middling and strong strokes."""
    segments, strengths = strokes(atom)
    levels = np.ceil(strengths * 3) / 3
    paths = np.array(["M{:.0f} {:.0f}L{:.0f} {:.0f}".format(*segment.ravel()) for segment in 100 * segments])
    return [("".join(paths[levels == level]), float(level)) for level in np.unique(levels)]
