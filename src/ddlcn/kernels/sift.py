"""Dense SIFT of one image at one patch size (Eq. 1), by the authors' formulas.

A descriptor is a patch's orientation energy summed over 4 × 4 cells with triangular weights in x and y.
The weights separate, so rows of the image are summed into x-cells once and shared by all patches that
overlap them; a second sum over rows gives the y-cells.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel

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


@kernel
def _cell_weights(patch):
    """weights[cell, pixel] = max(0, 1 − |pixel − centre of cell| / cell width)."""
    width = patch / N_CELLS
    weights = np.zeros((N_CELLS, patch), np.float32)
    for cell in range(N_CELLS):
        for pixel in range(patch):
            weights[cell, pixel] = max(0.0, 1 - abs(pixel - (cell + 0.5) * width + 0.5) / width)
    return weights


@kernel
def _orientation_row(image, y, smooth, slope, energy):
    """energy[x·8 + a] of image row y: magnitude · max(cos(θ − θ_a), 0)⁹; opposite angles share one cosine."""
    height, width = image.shape
    for x in range(width):
        up2 = image[y - 2, x] if y >= 2 else np.float32(0)
        up1 = image[y - 1, x] if y >= 1 else np.float32(0)
        down1 = image[y + 1, x] if y + 1 < height else np.float32(0)
        down2 = image[y + 2, x] if y + 2 < height else np.float32(0)
        smooth[x + 2] = _SMOOTH[0] * (up2 + down2) + _SMOOTH[1] * (up1 + down1) + _SMOOTH[2] * image[y, x]
        slope[x + 2] = _SLOPE[0] * (up2 - down2) + _SLOPE[1] * (up1 - down1)
    for x in range(width):  # differences first: flat areas cancel exactly
        gx = _SLOPE[0] * (smooth[x] - smooth[x + 4]) + _SLOPE[1] * (smooth[x + 1] - smooth[x + 3])
        gy = (
            _SMOOTH[0] * (slope[x] + slope[x + 4])
            + _SMOOTH[1] * (slope[x + 1] + slope[x + 3])
            + _SMOOTH[2] * slope[x + 2]
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
            energy[x * N_ORIENTATIONS + a] = max(value, np.float32(0))
            energy[x * N_ORIENTATIONS + a + N_ORIENTATIONS // 2] = max(-value, np.float32(0))


@kernel
def _normalise(values, threshold):
    """Norm of at least `threshold`: unit length, clipped, unit length again. Below: clipped, left short."""
    norm = np.sqrt((values * values).sum())
    strong = norm >= threshold and norm > 0
    scale = np.float32(1) / norm if strong else np.float32(1)
    for d in range(values.size):
        values[d] = min(values[d] * scale, CLIP)
    if strong:
        values *= np.float32(1) / np.sqrt((values * values).sum())


@kernel
def dense_sift(image, patch, step, threshold):
    """Descriptors (n, 128) of all patches, row by row; angle runs fastest, then y-cell, then x-cell."""
    height, width = image.shape
    top, left = ((height - patch) % step) // 2, ((width - patch) % step) // 2
    n_y, n_x = (height - patch) // step + 1, (width - patch) // step + 1
    weights = _cell_weights(patch)
    smooth, slope = np.zeros(width + 4, np.float32), np.zeros(width + 4, np.float32)  # zero beyond the border
    energy = np.empty(width * N_ORIENTATIONS, np.float32)
    part = N_CELLS * N_ORIENTATIONS
    rows = np.zeros((height, n_x * part), np.float32)  # energy of each image row in each patch's x-cells
    for y in range(height):
        _orientation_row(image, y, smooth, slope, energy)
        for ix in range(n_x):
            for cell in range(N_CELLS):
                cells = rows[y, ix * part + cell * N_ORIENTATIONS : ix * part + (cell + 1) * N_ORIENTATIONS]
                for pixel in range(patch):
                    weight = weights[cell, pixel]
                    if weight > 0:
                        start = (left + ix * step + pixel) * N_ORIENTATIONS
                        for a in range(N_ORIENTATIONS):
                            cells[a] += weight * energy[start + a]

    out = np.empty((n_y * n_x, N_CELLS * part), np.float32)
    summed = np.empty(n_x * part, np.float32)
    for iy in range(n_y):
        for cell_y in range(N_CELLS):
            summed[:] = 0
            for pixel in range(patch):
                weight = weights[cell_y, pixel]
                if weight > 0:
                    row = rows[top + iy * step + pixel]
                    for d in range(n_x * part):
                        summed[d] += weight * row[d]
            for ix in range(n_x):
                for cell_x in range(N_CELLS):
                    for a in range(N_ORIENTATIONS):
                        out[iy * n_x + ix, cell_x * part + cell_y * N_ORIENTATIONS + a] = summed[
                            ix * part + cell_x * N_ORIENTATIONS + a
                        ]
    for i in range(out.shape[0]):
        _normalise(out[i], threshold)
    return out
