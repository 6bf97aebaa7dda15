"""Feature extraction layer (Eq. 1): y_i = F(I), dense SIFT descriptors of an image.

F follows the authors' released code: square patches on a centred grid, eight orientations with cos⁹
weighting, 4 × 4 cells, clipping at 0.2, and descriptors of low contrast left short.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ddlcn.kernels.sift import N_FEATURES, dense_sift
from ddlcn.layers.patches import PatchDescriptor
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.rules import number


class DenseSIFT(PatchDescriptor):
    """Dense SIFT descriptors on a regular grid.

    Parameters
    ----------
    patch_size, step, min_steps, max_side, min_side : int
        See `PatchDescriptor`.
    contrast_threshold : float
        Descriptors whose norm before normalisation is below this stay short (the paper: 1, for grey
        values in [0, 1]). Lower it for dark images.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> values, positions, shape, sizes = DenseSIFT(min_side=32).describe(load_digits().images[0] / 16)
    >>> values.shape, shape
    ((4, 128), (32, 32))
    """

    n_features, role = N_FEATURES, "descriptor"
    rules: ClassVar = PatchDescriptor.rules | {"contrast_threshold": number(0, 1e6)}

    def __init__(
        self,
        patch_size: int | tuple[int, ...] = 16,
        step: int = 6,
        min_steps: int | None = None,
        max_side: int = 300,
        min_side: int | None = None,
        contrast_threshold: float = 1.0,
    ) -> None:
        super().__init__(patch_size, step, min_steps, max_side, min_side)
        self.contrast_threshold = contrast_threshold

    def values(self, image: PreparedImage, shape: tuple[int, int], step: int) -> np.ndarray:
        """Return the descriptors of all patches of an image at working size, size by size, row by row."""
        return dense_sift(image.grey(shape), self.patch_sizes, step, self.contrast_threshold)
