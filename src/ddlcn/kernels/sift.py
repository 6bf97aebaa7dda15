"""Dense SIFT of one image (Eq. 1), by the authors' formulas.

A descriptor is a patch's orientation energy summed over 4 × 4 cells with triangular weights in x and y.
The weights separate: columns of the image are summed into x-cells once, for all patches one above the
other, and rows of that strip into y-cells. Energies of a column are computed once, for patches of all sizes,
and kept only while a patch needs them, so that all but the result stays in the processor's cache.
"""

from functools import lru_cache

import numpy as np

from ddlcn.kernels.compiled import kernel, part

N_ORIENTATIONS = 8
N_CELLS = 4
PART = N_CELLS * N_ORIENTATIONS  # of a descriptor, one row or column of cells
N_FEATURES = N_CELLS * PART
CLIP = np.float32(0.2)


def _gradient_taps() -> tuple[np.ndarray, np.ndarray]:
    """The 5 × 5 filters as outer products: a Gaussian of σ = 0.8 and its discrete gradient, Σ|·| = 2."""
    gauss = np.exp(-0.5 * (np.arange(-2, 3) / 0.8) ** 2)
    gauss /= gauss.sum()
    slope = np.gradient(gauss)
    return gauss.astype(np.float32), (2 * slope / np.abs(slope).sum()).astype(np.float32)


_SMOOTH, _SLOPE = _gradient_taps()
_ANGLES = np.arange(N_ORIENTATIONS // 2) * (2 * np.pi / N_ORIENTATIONS)
_COS, _SIN = np.cos(_ANGLES).astype(np.float32), np.sin(_ANGLES).astype(np.float32)


@lru_cache
def _cell_weights(patch_sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """weights[size, cell, pixel] = max(0, 1 − |pixel − centre| / cell width), and the pixels of each cell."""
    patches = np.array(patch_sizes)[:, None, None]
    width, cell = patches / N_CELLS, np.arange(N_CELLS)[:, None]
    pixel = np.arange(patches.max() + 3)
    weights = np.maximum(0, 1 - np.abs(pixel - (cell + 0.5) * width + 0.5) / width) * (pixel < patches)
    firsts = (weights > 0).argmax(axis=2)
    return weights.astype(np.float32), firsts, firsts + (weights > 0).sum(axis=2)


@part
def _orientation_column(turned, x, smooth, slope, energy):
    """energy[y·8 + a] of image column x: magnitude · max(cos(θ − θ_a), 0)⁹; opposite angles share a cosine.

    `turned` is the image transposed, so that a column lies in one piece.
    """
    width, height = turned.shape
    for y in range(height):
        left2 = turned[x - 2, y] if x >= 2 else np.float32(0)
        left1 = turned[x - 1, y] if x >= 1 else np.float32(0)
        right1 = turned[x + 1, y] if x + 1 < width else np.float32(0)
        right2 = turned[x + 2, y] if x + 2 < width else np.float32(0)
        smooth[y + 2] = _SMOOTH[0] * (left2 + right2) + _SMOOTH[1] * (left1 + right1) + _SMOOTH[2] * turned[x, y]
        slope[y + 2] = _SLOPE[0] * (left2 - right2) + _SLOPE[1] * (left1 - right1)
    for y in range(height):  # differences first: flat areas cancel exactly
        gy = _SLOPE[0] * (smooth[y] - smooth[y + 4]) + _SLOPE[1] * (smooth[y + 1] - smooth[y + 3])
        gx = (
            _SMOOTH[0] * (slope[y] + slope[y + 4])
            + _SMOOTH[1] * (slope[y + 1] + slope[y + 3])
            + _SMOOTH[2] * slope[y + 2]
        )
        magnitude = np.sqrt(gx * gx + gy * gy)
        inverse = np.float32(0)
        if magnitude > 0:
            inverse = np.float32(1) / magnitude
        for a in range(N_ORIENTATIONS // 2):
            cosine = (gx * _COS[a] + gy * _SIN[a]) * inverse
            square = cosine * cosine
            fourth = square * square
            value = fourth * fourth * cosine * magnitude
            energy[y * N_ORIENTATIONS + a] = max(value, np.float32(0))
            energy[y * N_ORIENTATIONS + a + N_ORIENTATIONS // 2] = max(-value, np.float32(0))


@part
def _weighted_sum(vectors, start, weights, first, last, out):
    """out = Σ weights[pixel] · vectors[start + pixel] over a cell's pixels, four at a time.

    Three zeros end the weights. `vectors` is a ring: vector i lies at i mod its length.
    """
    n, end = vectors.shape[0], start + last - 1
    for pixel in range(first, last, 4):
        place = start + pixel
        one, two = vectors[place % n], vectors[min(place + 1, end) % n]
        three, four = vectors[min(place + 2, end) % n], vectors[min(place + 3, end) % n]
        w1, w2, w3, w4 = weights[pixel], weights[pixel + 1], weights[pixel + 2], weights[pixel + 3]
        if pixel == first:
            for d in range(out.size):
                out[d] = (w1 * one[d] + w2 * two[d]) + (w3 * three[d] + w4 * four[d])
        else:
            for d in range(out.size):
                out[d] += (w1 * one[d] + w2 * two[d]) + (w3 * three[d] + w4 * four[d])


@part
def _normalise(values, threshold):
    """Norm of at least `threshold`: unit length, clipped, unit length again. Below: clipped, left short."""
    energy = np.float32(0)
    for d in range(values.size):
        energy += values[d] * values[d]
    norm = np.sqrt(energy)
    strong = norm >= threshold and norm > 0
    scale = np.float32(1) / norm if strong else np.float32(1)
    energy = np.float32(0)
    for d in range(values.size):
        values[d] = min(values[d] * scale, CLIP)
        energy += values[d] * values[d]
    if strong:
        scale = np.float32(1) / np.sqrt(energy)
        for d in range(values.size):
            values[d] *= scale


def dense_sift(image: np.ndarray, patch_sizes: tuple[int, ...], step: int, threshold: float) -> np.ndarray:
    """Descriptors (n, 128) of all patches, size by size, row by row; angle runs fastest, then y, then x."""
    patches, (height, width) = np.array(patch_sizes), image.shape
    corners = (height - patches) % step // 2, (width - patches) % step // 2
    counts = (height - patches) // step + 1, (width - patches) // step + 1
    out = np.empty((int(np.prod(counts, axis=0).sum()), N_FEATURES), np.float32)
    turned = np.ascontiguousarray(image.T)
    _describe(turned, patches, step, np.float32(threshold), *corners, *counts, *_cell_weights(patch_sizes), out)
    return out


@kernel
def _describe(turned, patches, step, threshold, tops, lefts, n_y, n_x, weights, firsts, lasts, out):
    """The descriptors of an image that is given transposed."""
    width, height = turned.shape
    smooth, slope = np.zeros(height + 4, np.float32), np.zeros(height + 4, np.float32)  # zero past the border
    largest = weights.shape[2] - 3
    ring = np.empty((largest, height * N_ORIENTATIONS), np.float32)  # energies of the last columns
    column = np.empty(height * N_ORIENTATIONS, np.float32)
    strip, sums = np.empty((height, PART), np.float32), np.empty(PART, np.float32)
    for x in range(width):
        _orientation_column(turned, x, smooth, slope, ring[x % ring.shape[0]])
        first_of_size = 0
        for size in range(patches.size):
            start = x + 1 - patches[size]  # of patches that end here
            if start >= lefts[size] and (start - lefts[size]) % step == 0:
                for cell in range(N_CELLS):  # strip[y, x-cell · 8 + a]
                    first, last = firsts[size, cell], lasts[size, cell]
                    _weighted_sum(ring, start, weights[size, cell], first, last, column)
                    for y in range(height):
                        for a in range(N_ORIENTATIONS):
                            strip[y, cell * N_ORIENTATIONS + a] = column[y * N_ORIENTATIONS + a]
                for iy in range(n_y[size]):
                    values = out[first_of_size + iy * n_x[size] + (start - lefts[size]) // step]
                    for cell in range(N_CELLS):
                        first, last = firsts[size, cell], lasts[size, cell]
                        _weighted_sum(strip, tops[size] + iy * step, weights[size, cell], first, last, sums)
                        for cell_x in range(N_CELLS):
                            for a in range(N_ORIENTATIONS):
                                place = cell_x * PART + cell * N_ORIENTATIONS + a
                                values[place] = sums[cell_x * N_ORIENTATIONS + a]
                    _normalise(values, threshold)
            first_of_size += n_y[size] * n_x[size]
