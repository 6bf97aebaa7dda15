"""M(c, j) = max {γᵢⱼ : i in cell c},  m(c, j) = min {γᵢⱼ : i in cell c},  both 0 where a cell is empty.

An axis of side s is cut in b; a 0-based centre x lies in the 1-based cell ⌈(x + 1) b / s⌉ (authors' rule).
"""

import math

import numpy as np


def cells(positions, shape, levels=(1, 2, 4)):
    """The descriptors of each cell: level by level, rows of cells from the top, from the left in a row."""
    for b in levels:
        home = [
            tuple(min(max(math.ceil((x + 1) * b / s), 1), b) for x, s in zip(p, shape, strict=True))
            for p in np.asarray(positions, float)
        ]
        for cell in np.ndindex(b, b):
            yield [i for i, (row, column) in enumerate(home) if cell == (row - 1, column - 1)]


def pool(codes, positions, shape, levels=(1, 2, 4)):
    """Dense codes (n, s) to the largest and the smallest a cell: two arrays (cells, s)."""
    inside = [
        codes[members] if members else np.zeros((1, codes.shape[1])) for members in cells(positions, shape, levels)
    ]
    return np.array([c.max(0) for c in inside]), np.array([c.min(0) for c in inside])
