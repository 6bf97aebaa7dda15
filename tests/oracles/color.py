"""Mean and deviation of opponent colours in the 4 × 4 cells of each patch, pixel by pixel."""

from itertools import pairwise

import numpy as np

from tests.oracles.sift import corners


def color_statistics(rgb, patch, step):
    """Descriptors of all patches of one size, row by row."""
    red, green, blue = np.moveaxis(np.asarray(rgb, float), 2, 0)
    planes = [(red - green) / 2**0.5, (red + green - 2 * blue) / 6**0.5, (red + green + blue) / 3**0.5]
    opponent, found = np.stack(planes, axis=2), []
    ends = [i * patch // 4 for i in range(5)]
    for y in corners(rgb.shape[0], patch, step):
        for x in corners(rgb.shape[1], patch, step):
            own = opponent[y : y + patch, x : x + patch]
            cells = [[own[a:b, c:d] for c, d in pairwise(ends)] for a, b in pairwise(ends)]
            means = np.array([[cell.mean(axis=(0, 1)) for cell in row] for row in cells])
            means[..., 2] -= means[..., 2].mean()
            deviations = np.array([[cell.std(axis=(0, 1)) for cell in row] for row in cells])
            found.append(np.concatenate([means.ravel(), deviations.ravel()]))
    return np.array(found)
