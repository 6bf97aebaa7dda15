"""Dense SIFT of one image (Eq. 1), by the authors' formulas: energies once, descriptors by patch size.

A descriptor is a patch's orientation energy summed over 4 × 4 cells with triangular weights in x and y.
The weights separate, so rows of the image are summed into x-cells once and shared by all patches that
overlap them; a second sum over rows gives the y-cells.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel, part

N_ORIENTATIONS = 8
N_CELLS = 4
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


@part
def _cell_weights(patch):
    """weights[cell, pixel] = max(0, 1 − |pixel − centre of cell| / cell width), and each cell's pixels."""
    width = patch / N_CELLS
    weights = np.zeros((N_CELLS, patch), np.float32)
    firsts, lasts = np.full(N_CELLS, patch), np.zeros(N_CELLS, np.int64)
    for cell in range(N_CELLS):
        for pixel in range(patch):
            weights[cell, pixel] = max(0.0, 1 - abs(pixel - (cell + 0.5) * width + 0.5) / width)
            if weights[cell, pixel] > 0:
                firsts[cell], lasts[cell] = min(firsts[cell], pixel), pixel + 1
    return weights, firsts, lasts


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
        smooth[y + 2] = (
            _SMOOTH[0] * (left2 + right2) + _SMOOTH[1] * (left1 + right1) + _SMOOTH[2] * turned[x, y]
        )
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
    """out = Σ weights[pixel] · vectors[start + pixel] over a cell's pixels, two of them at a time."""
    first_weight, vector = weights[first], vectors[start + first]
    for d in range(out.size):
        out[d] = first_weight * vector[d]
    for pixel in range(first + 1, last, 2):
        other = min(pixel + 1, last - 1)
        one, two = weights[pixel], weights[other] if other > pixel else np.float32(0)
        vector, second = vectors[start + pixel], vectors[start + other]
        for d in range(out.size):
            out[d] += one * vector[d] + two * second[d]


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


@kernel
def orientation_energy(image):
    """energy[x, y·8 + a] of all pixels."""
    height, width = image.shape
    turned = np.ascontiguousarray(image.T)
    smooth, slope = np.zeros(height + 4, np.float32), np.zeros(height + 4, np.float32)  # zero past the border
    energy = np.empty((width, height * N_ORIENTATIONS), np.float32)
    for x in range(width):
        _orientation_column(turned, x, smooth, slope, energy[x])
    return energy


@kernel
def dense_sift(energy, patch, step, threshold):
    """Descriptors (n, 128) of all patches, row by row; angle runs fastest, then y-cell, then x-cell.

    Sums over x run along whole columns of energies, sums over y along whole rows of x-cells: both are long.
    """
    height, width = energy.shape[1] // N_ORIENTATIONS, energy.shape[0]
    top, left = ((height - patch) % step) // 2, ((width - patch) % step) // 2
    n_y, n_x = (height - patch) // step + 1, (width - patch) // step + 1
    weights, firsts, lasts = _cell_weights(patch)
    part = N_CELLS * N_ORIENTATIONS

    rows = np.empty((height, n_x * part), np.float32)  # energy of each image row in each patch's x-cells
    column = np.empty(height * N_ORIENTATIONS, np.float32)
    for ix in range(n_x):
        for cell in range(N_CELLS):
            _weighted_sum(energy, left + ix * step, weights[cell], firsts[cell], lasts[cell], column)
            place = ix * part + cell * N_ORIENTATIONS
            for y in range(height):
                for a in range(N_ORIENTATIONS):
                    rows[y, place + a] = column[y * N_ORIENTATIONS + a]

    out = np.empty((n_y * n_x, N_CELLS * part), np.float32)
    summed = np.empty(n_x * part, np.float32)
    for iy in range(n_y):
        for cell in range(N_CELLS):
            _weighted_sum(rows, top + iy * step, weights[cell], firsts[cell], lasts[cell], summed)
            for ix in range(n_x):
                for cell_x in range(N_CELLS):
                    place, source = cell_x * part + cell * N_ORIENTATIONS, ix * part + cell_x * N_ORIENTATIONS
                    for a in range(N_ORIENTATIONS):
                        out[iy * n_x + ix, place + a] = summed[source + a]
    for i in range(out.shape[0]):
        _normalise(out[i], threshold)
    return out
