"""Local colour statistics: mean and deviation of opponent colours in the 4 × 4 cells of a patch."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from PIL import Image

from ddlcn.kernels.color import N_CELLS, N_FEATURES, N_PLANES, cell_statistics, opponent_sums
from ddlcn.layers.patches import PatchDescriptor
from ddlcn.preprocessing.prepared import PreparedImage

_CHROMA = 0.1 * 255
_PIXELS = 0.05  # share of them that must have it
_MEASURED = 64  # pixels: sides of images that are examined
_SEVERAL = 3  # images of a class that tell whether it is grey


class ColorStatistics(PatchDescriptor):
    """Means, then deviations, of red − green, yellow − blue and brightness in 4 × 4 cells: 96 numbers.

    From the means of brightness their average over the patch is taken away, so that light and dark images of the
    same thing have the same descriptors.

    Parameters
    ----------
    patch_size, step, min_steps, max_side, min_side : int
        See `PatchDescriptor`.

    Examples
    --------
    >>> red = np.zeros((16, 16, 3))
    >>> red[..., 0] = 1
    >>> values = ColorStatistics().describe(red).values.reshape(2, 4, 4, 3)
    >>> values[0, 0, 0].round(3).tolist()
    [0.7070000171661377, 0.40799999237060547, 0.0]
    """

    n_features, role = N_FEATURES, "descriptor"
    rules: ClassVar = PatchDescriptor.rules
    least_weight: ClassVar = 0.5  # that selection may choose: without the channel, grey images would not be unknown

    def values(self, image: PreparedImage, shape: tuple[int, int], step: int) -> np.ndarray:
        """Return the descriptors of all patches of an image at working size, size by size, row by row."""
        sums = np.empty((shape[0] + 1, shape[1] + 1, 2 * N_PLANES))
        opponent_sums(image.rgb(shape), sums)
        values = cell_statistics(sums, np.array(self.patch_sizes), step)
        brightness = values[:, N_PLANES - 1 : N_PLANES * N_CELLS**2 : N_PLANES]
        brightness -= brightness.mean(axis=1, keepdims=True)
        return values

    def for_grey(self) -> None:
        """Return None: images without colour are not described."""

    @staticmethod
    def is_colored(atoms: np.ndarray) -> np.ndarray:
        """Return whether more than half of the squared length of each atom is in its means of the first two planes."""
        squares = np.square(atoms)
        chroma = squares[:, : N_PLANES * N_CELLS**2].reshape(len(atoms), -1, N_PLANES)[..., : N_PLANES - 1]
        return chroma.sum(axis=(1, 2)) > squares.sum(axis=1) / 2


def has_color(rgb: np.ndarray) -> bool:
    """Whether a twentieth of the pixels of an image have chroma, the largest less the smallest of R, G, B, above 0.1.

    Parameters
    ----------
    rgb : array of bytes (height, width, 3)

    Examples
    --------
    >>> has_color(np.full((4, 4, 3), 200, np.uint8)), has_color(np.full((4, 4, 3), [200, 60, 60], np.uint8))
    (False, True)
    """
    factor = -(-max(rgb.shape[:2]) // _MEASURED)
    small = np.asarray(Image.fromarray(rgb).reduce(factor)).reshape(-1, 3)
    return bool(np.mean(np.ptp(small, axis=1) > _CHROMA) >= _PIXELS)


def grey_by_class_score(colored: np.ndarray, y: np.ndarray) -> float:
    """Return how far greyness follows the class: the largest less the smallest share of colour images in a class.

    Parameters
    ----------
    colored : array of bool
        Whether each image has colour.
    y : array of int
        Its class; those of fewer than three images are ignored.

    Returns
    -------
    float
        1 if one class has colour images only and another grey images only.

    Examples
    --------
    >>> grey_by_class_score(np.array([True, True, True, False, False, True]), np.array([0, 0, 0, 1, 1, 1])) > 0.6
    True
    """
    shares = [float(colored[y == c].mean()) for c, n in enumerate(np.bincount(y)) if n >= _SEVERAL]
    return max(shares) - min(shares) if shares else 0.0
