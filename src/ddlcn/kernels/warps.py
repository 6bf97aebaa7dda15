"""Pictures looked up at other places: a figure stood upright by its moments, and a bent picture."""

import numpy as np

from ddlcn.kernels.compiled import kernel, part


@kernel
def moments(grey, ground):
    """Of mass m = abs(grey − ground): its sum; means of row and column; Var(r), Var(c), Cov(r, c)."""
    height, width = grey.shape
    rows, columns, total = np.zeros(height), np.zeros(width), 0.0
    for y in range(height):
        for x in range(width):
            mass = abs(np.float64(grey[y, x]) - ground)
            rows[y] += mass
            columns[x] += mass
        total += rows[y]
    if not total > 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    row, column = 0.0, 0.0
    for y in range(height):
        row += rows[y] * y / total
    for x in range(width):
        column += columns[x] * x / total
    tall, wide, both = 0.0, 0.0, 0.0
    for y in range(height):
        across = 0.0
        for x in range(width):
            across += abs(np.float64(grey[y, x]) - ground) * (x - column)
        tall += rows[y] * (y - row) ** 2
        both += across * (y - row)
    for x in range(width):
        wide += columns[x] * (x - column) ** 2
    return total, row, column, tall / total, wide / total, both / total


@part
def _between(grey, y, x):
    """The value at a place within the picture, between the four pixels around it."""
    height, width = grey.shape
    above, before = min(int(y), height - 1), min(int(x), width - 1)
    upper, lower, after = grey[above], grey[min(above + 1, height - 1)], min(before + 1, width - 1)
    across, down = np.float32(x - before), np.float32(y - above)
    high = upper[before] + across * (upper[after] - upper[before])
    low = lower[before] + across * (lower[after] - lower[before])
    return high + down * (low - high)


@kernel
def stood(grey, down, slant, across, top, left, ground):
    """out[r, c] = grey at (top + down·r, left + slant·r + across·c); `ground` outside of the picture."""
    height, width = grey.shape
    out = np.full((height, width), ground, np.float32)
    for r in range(height):
        y = top + down * r
        for c in range(width):
            x = left + slant * r + across * c
            if 0 <= y <= height - 1 and 0 <= x <= width - 1:
                out[r, c] = _between(grey, y, x)
    return out


@kernel
def bent(grey, heights, along_rows, along_columns):
    """out[r, c] = grey at (r, c) + Σ heights[:, i, j] · along_rows[r, i] · along_columns[c, j].

    What lies outside of the picture is what is nearest to it.
    """
    height, width = grey.shape
    n, out, waves = heights.shape[1], np.empty((height, width), np.float32), np.empty((2, heights.shape[1]))
    for r in range(height):
        waves[:] = 0
        for i in range(n):
            for j in range(n):
                waves[0, j] += along_rows[r, i] * heights[0, i, j]
                waves[1, j] += along_rows[r, i] * heights[1, i, j]
        for c in range(width):
            y, x = np.float64(r), np.float64(c)
            for j in range(n):
                y += waves[0, j] * along_columns[c, j]
                x += waves[1, j] * along_columns[c, j]
            out[r, c] = _between(grey, min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0))
    return out
