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
from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError
from ddlcn.images import MAX_PIXELS, read_grey
from ddlcn.kernels.sift import dense_sift
from ddlcn.layers.upright import stand

MAX_PATCHES = 1 << 23  # of an image: 4 GB of descriptors


class Descriptors(NamedTuple):
    """What `DenseSIFT` sees in one image: a row for each patch."""

    values: np.ndarray  # (n, 128) float32
    positions: np.ndarray  # (n, 2) float32: row and column of the patch's centre, in pixels of `shape`
    shape: tuple[int, int]  # height and width of the image as worked on
    sizes: np.ndarray  # (n,) int32: side of the patch, in pixels of `shape`


class DenseSIFT(BaseEstimator):
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
    density : float
        Patches along a line, in times of those that the step so far gives.
    upright : (float, float), optional
        Stand figures on plain ground upright (see `upright`), of about this height and width: standard
        deviations, in shorter sides of the image.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> values, positions, shape, sizes = DenseSIFT(min_side=32).transform(load_digits().images[0] / 16)
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
        density: float = 1.0,
        upright: tuple[float, float] | None = None,
    ) -> None:
        self.patch_size = patch_size
        self.step = step
        self.min_steps = min_steps
        self.max_side = max_side
        self.min_side = min_side
        self.contrast_threshold = contrast_threshold
        self.density = density
        self.upright = upright

    @property
    def patch_sizes(self) -> tuple[int, ...]:
        """The patch sizes as a tuple, checked."""
        sizes = (
            (self.patch_size,) if isinstance(self.patch_size, int | np.integer) else tuple(self.patch_size)
        )
        if (
            not sizes
            or min(sizes) < 4
            or min(self.step, self.min_steps or 1) < 1
            or max(sizes) > self.max_side
        ):
            raise DDLCNError(
                f"patch_size={self.patch_size}, step={self.step}, min_steps={self.min_steps}: patches must "
                f"have 4 to max_side={self.max_side} pixels, and the others be at least 1"
            )
        if not (self.density > 0 and (self.upright is None or min(self.upright) > 0)):
            raise DDLCNError(f"density={self.density}, upright={self.upright}: must be positive")
        return sizes

    def but(self, **changes: Any) -> DenseSIFT:
        """The same with some parameters changed.

        >>> DenseSIFT(step=8).but(density=2.0)
        DenseSIFT(density=2.0, step=8)
        """
        return type(self)(**self.get_params() | changes)

    def transform(
        self,
        image: Any,
        value_range: tuple[float, float] = (0.0, 1.0),
        change: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Descriptors:
        """Describe an image: a path, or an array of grey values in `value_range` (see `read_grey`).

        With `change`, a copy of it: as that makes it of the image at the size that is worked on.
        """
        sizes = self.patch_sizes  # before anything that settings without sense would break
        given = read_grey(image, value_range=value_range)
        grey, threshold = self.resize(given, change), np.float32(self.contrast_threshold)
        shape, step = (grey.shape[0], grey.shape[1]), self._step(min(given.shape), min(grey.shape))
        del given  # a photograph's makes room
        patches = sum(prod((side - size) // step + 1 for side in shape) for size in sizes)
        if patches > MAX_PATCHES:
            raise DDLCNError(
                f"step={self.step}: an image of {shape[1]} x {shape[0]} pixels would give {patches:,} "
                f"patches, over the limit of {MAX_PATCHES:,}; raise step or lower max_side={self.max_side}"
            )
        values = dense_sift(grey, np.array(sizes), step, threshold)
        positions, of_each = _grid(shape, sizes, step)
        return Descriptors(values, positions, shape, of_each)

    def _step(self, given: int, side: int) -> int:
        """Pixels between patches of an image whose shortest side had so many pixels, and now has these."""
        step = self.step
        if self.min_side is not None:
            widest = max(step, 3 * min(self.patch_sizes) // 4)
            step = min(round(step * max(side / given, 1.0)), widest)
        step = min(step, side // self.min_steps) if self.min_steps else step
        return max(1, round(step / self.density))

    def shrink(self, grey: np.ndarray) -> np.ndarray:
        """The image, no larger than it is worked on."""
        return self._scaled(grey) if max(grey.shape) > self.max_side else grey

    def resize(
        self, grey: np.ndarray, change: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """The image as it is worked on: at that size, changed and upright if so wished."""
        found = self._scaled(grey)
        if change is not None:
            found = change(found)
        return found if self.upright is None else stand(found, self.upright)

    def _scaled(self, grey: np.ndarray) -> np.ndarray:
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
        return np.array(resized, dtype=np.float32)  # kernels compile anew for what can't be written


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
