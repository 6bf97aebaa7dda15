"""Means and deviations of opponent colours in the 4 × 4 cells of patches, by sums over rectangles."""

import numpy as np

from ddlcn.kernels.compiled import kernel, part

N_CELLS = 4
N_PLANES = 3
N_FEATURES = 2 * N_PLANES * N_CELLS * N_CELLS


@kernel
def opponent_sums(rgb, sums):
    """sums[y, x, plane]: sums over rows < y and columns < x of the opponent colours, then of their squares."""
    height, width = rgb.shape[:2]
    sums[0] = 0
    line = np.empty(2 * N_PLANES)
    for y in range(height):
        line[:] = 0
        sums[y + 1, 0] = 0
        for x in range(width):
            red, green, blue = np.float64(rgb[y, x, 0]), np.float64(rgb[y, x, 1]), np.float64(rgb[y, x, 2])
            first = (red - green) / np.sqrt(2.0)
            second = (red + green - 2 * blue) / np.sqrt(6.0)
            third = (red + green + blue) / np.sqrt(3.0)
            line[0] += first
            line[1] += second
            line[2] += third
            line[3] += first * first
            line[4] += second * second
            line[5] += third * third
            for plane in range(2 * N_PLANES):
                sums[y + 1, x + 1, plane] = sums[y, x + 1, plane] + line[plane]


@part
def _rectangle(sums, top, bottom, left, right, plane):
    return (sums[bottom, right, plane] - sums[top, right, plane]) - (sums[bottom, left, plane] - sums[top, left, plane])


@part
def _patch_statistics(sums, y, x, size, means, deviations):
    for i in range(N_CELLS):
        top, bottom = y + i * size // N_CELLS, y + (i + 1) * size // N_CELLS
        for j in range(N_CELLS):
            left, right = x + j * size // N_CELLS, x + (j + 1) * size // N_CELLS
            n_pixels = (bottom - top) * (right - left)
            for plane in range(N_PLANES):
                mean = _rectangle(sums, top, bottom, left, right, plane) / n_pixels
                square = _rectangle(sums, top, bottom, left, right, N_PLANES + plane) / n_pixels
                place = (i * N_CELLS + j) * N_PLANES + plane
                means[place] = mean
                deviations[place] = np.sqrt(max(square - mean * mean, 0.0))


@kernel
def cell_statistics(sums, sizes, step):
    """Means, then deviations, by (cell row, cell column, plane): a row for each patch, size by size."""
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    total = 0
    for size in sizes:
        total += ((height - size) // step + 1) * ((width - size) // step + 1)
    out = np.empty((total, N_FEATURES), np.float32)
    half, row = N_FEATURES // 2, 0
    for size in sizes:
        for y in range((height - size) % step // 2, height - size + 1, step):
            for x in range((width - size) % step // 2, width - size + 1, step):
                _patch_statistics(sums, y, x, size, out[row, :half], out[row, half:])
                row += 1
    return out
