"""Feature extraction layer (Eq. 1): y_i = F(I), dense SIFT descriptors of an image.

F follows the authors' released code: square patches on a centred grid, eight orientations with cos⁹
weighting, 4 × 4 cells, clipping at 0.2, and descriptors of low contrast left short.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from ddlcn.errors import DDLCNError
from ddlcn.images import MAX_PIXELS, read_grey
from ddlcn.kernels.sift import N_FEATURES, dense_sift
from ddlcn.layers.part import Part

MAX_PATCHES = 1 << 23  # per image: 4 GB of descriptors
Warp = Callable[[np.ndarray], np.ndarray]  # a grey image to one of the same shape


class Descriptors(NamedTuple):
    """Descriptors of one image: a row for each patch."""

    values: np.ndarray  # (n, n_features) float32
    positions: np.ndarray  # (n, 2) float32: row and column of the patch's centre, in pixels of `shape`
    shape: tuple[int, int]  # height and width of the image as worked on
    sizes: np.ndarray  # (n,) int32: side of the patch, in pixels of `shape`


class DenseSIFT(Part):
    """Dense SIFT descriptors on a regular grid.

    Parameters
    ----------
    patch_size : int or tuple of int
        Side of the patches in pixels; several sizes give descriptors of each.
    step : int
        Pixels between neighbouring patches. For an image that `min_side` enlarges, pixels before that, so
        that it has no more patches for being enlarged; yet at most three quarters of the smallest patch.
    min_steps : int, optional
        The step is shortened where an image's shortest side has fewer steps than this.
    max_side : int
        An image whose longest side exceeds this is shrunk to it (bicubic).
    min_side : int, optional
        An image whose shortest side is below this is enlarged to it, as far as `max_side` allows.
        A side shorter than a patch is always enlarged to the patch: no image is dropped.
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

    def __init__(
        self,
        patch_size: int | tuple[int, ...] = 16,
        step: int = 6,
        min_steps: int | None = None,
        max_side: int = 300,
        min_side: int | None = None,
        contrast_threshold: float = 1.0,
    ) -> None:
        self.patch_size = patch_size
        self.step = step
        self.min_steps = min_steps
        self.max_side = max_side
        self.min_side = min_side
        self.contrast_threshold = contrast_threshold

    @property
    def patch_sizes(self) -> tuple[int, ...]:
        """The patch sizes as a tuple, checked."""
        sizes = (self.patch_size,) if isinstance(self.patch_size, int | np.integer) else tuple(self.patch_size)
        if not sizes or min(sizes) < 4 or min(self.step, self.min_steps or 1) < 1 or max(sizes) > self.max_side:
            raise DDLCNError(
                f"patch_size={self.patch_size}, step={self.step}, min_steps={self.min_steps}: patches must "
                f"have 4 to max_side={self.max_side} pixels, and the others be at least 1"
            )
        return sizes

    @property
    def n_features(self) -> int:
        """Numbers per descriptor."""
        return N_FEATURES

    def describe(
        self, image: Any, value_range: tuple[float, float] = (0.0, 1.0), warp: Warp | None = None
    ) -> Descriptors:
        """Describe the patches of an image.

        Parameters
        ----------
        image : path or array
            See `ddlcn.images.read_grey`.
        value_range : (float, float)
            Black and white of arrays of floats.
        warp : callable, optional
            Applied to the grey image at working size: deskewing, an augmentation.

        Returns
        -------
        Descriptors

        Raises
        ------
        ImageError
            If the image can't be read.
        DDLCNError
            If the parameters are invalid, or give too many patches.
        """
        sizes = self.patch_sizes  # checked before any work
        given = read_grey(image, value_range=value_range)
        grey = self.resize(given)
        grey = grey if warp is None else warp(grey)
        shape, step = (grey.shape[0], grey.shape[1]), self._step(min(given.shape), min(grey.shape))
        patches = sum(prod((side - size) // step + 1 for side in shape) for size in sizes)
        if patches > MAX_PATCHES:
            raise DDLCNError(
                f"step={self.step}: an image of {shape[1]} x {shape[0]} pixels would give {patches:,} "
                f"patches, over the limit of {MAX_PATCHES:,}; raise step or lower max_side={self.max_side}"
            )
        values = dense_sift(grey, np.array(sizes), step, np.float32(self.contrast_threshold))
        positions, of_each = _grid(shape, sizes, step)
        return Descriptors(values, positions, shape, of_each)

    def _step(self, given: int, side: int) -> int:
        """Pixels between patches of an image whose shortest side had `given` pixels and now has `side`."""
        step = self.step
        if self.min_side is not None:
            widest = max(step, 3 * min(self.patch_sizes) // 4)
            step = min(round(step * max(side / given, 1.0)), widest)
        return max(1, min(step, side // self.min_steps) if self.min_steps else step)

    def resize(self, grey: np.ndarray) -> np.ndarray:
        """Return the image at working size.

        Parameters
        ----------
        grey : 2-D array

        Returns
        -------
        2-D array, float32
        """
        largest_patch = max(self.patch_sizes)
        wanted = max(self.min_side or 0, largest_patch)
        scale = min(max(1.0, wanted / min(grey.shape)), self.max_side / max(grey.shape))
        height, width = (max(largest_patch, ceil(side * scale - 1e-9)) for side in grey.shape)
        if (height, width) == grey.shape:
            return grey
        if height * width > MAX_PIXELS:
            raise DDLCNError(
                f"min_side={self.min_side}: an image would be enlarged to {width} x {height} pixels, over "
                f"the limit of {MAX_PIXELS // 10**6} million; lower min_side or max_side={self.max_side}"
            )
        resized = Image.fromarray(grey).resize((width, height), Image.Resampling.BICUBIC)
        return np.array(resized, dtype=np.float32)  # writeable, as kernels are compiled for


@lru_cache(maxsize=256)
def _grid(shape: tuple[int, int], patch_sizes: tuple[int, ...], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres and sizes of the patches, in centred grids; images of one shape share them."""
    positions, sizes = [], []
    for size in patch_sizes:
        rows, columns = (np.arange((side - size) % step // 2, side - size + 1, step) for side in shape)
        corners = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
        positions.append(corners + np.float32((size - 1) / 2))
        sizes.append(np.full(len(corners), size, np.int32))
    found = np.concatenate(positions, dtype=np.float32), np.concatenate(sizes)
    for array in found:
        array.setflags(write=False)
    return found
