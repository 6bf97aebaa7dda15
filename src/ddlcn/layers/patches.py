"""Descriptors of square patches on a centred grid: what `DenseSIFT` and `ColorStatistics` share."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.images import MAX_PIXELS
from ddlcn.layers.part import Part
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.rules import NOTHING, list_of, whole

MAX_PATCHES = 1 << 23  # per image: 4 GB of descriptors
_PATCH = whole(4, 1 << 12)


class Descriptors(NamedTuple):
    """Descriptors of one image: a row for each patch."""

    values: np.ndarray  # (n, n_features) float32
    positions: np.ndarray  # (n, 2) float32: row and column of the patch's centre, in pixels of `shape`
    shape: tuple[int, int]  # height and width of the image as worked on
    sizes: np.ndarray  # (n,) int32: side of the patch, in pixels of `shape`


class PatchDescriptor(Part):
    """Patches of some sizes on a regular grid over an image at working size. Subclasses give `values`.

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
    """

    n_features: int
    rules: ClassVar = {
        "patch_size": _PATCH | list_of(_PATCH, 1, 16),
        "step": whole(1, 1 << 20),
        "min_steps": whole(1, 1 << 8) | NOTHING,
        "max_side": whole(4, 1 << 20),
        "min_side": whole(1, 1 << 14) | NOTHING,
    }

    def __init__(
        self,
        patch_size: int | tuple[int, ...] = 16,
        step: int = 6,
        min_steps: int | None = None,
        max_side: int = 300,
        min_side: int | None = None,
    ) -> None:
        self.patch_size = patch_size
        self.step = step
        self.min_steps = min_steps
        self.max_side = max_side
        self.min_side = min_side

    def values(self, image: PreparedImage, shape: tuple[int, int], step: int) -> np.ndarray:
        """Return the descriptors of all patches of an image at working size, size by size, row by row."""
        raise NotImplementedError

    @property
    def patch_sizes(self) -> tuple[int, ...]:
        """The patch sizes as a tuple."""
        return (self.patch_size,) if isinstance(self.patch_size, int | np.integer) else tuple(self.patch_size)

    def check(self) -> None:
        """Raise if a parameter is invalid.

        Raises
        ------
        DDLCNError
            Names the parameter and what it must be.
        """
        super().check()
        if np.max(self.patch_size) > self.max_side:
            raise DDLCNError(f"patch_size={self.patch_size}: must be at most max_side={self.max_side}")

    def describe(self, image: Any) -> Descriptors:
        """Describe the patches of an image.

        Parameters
        ----------
        image : PreparedImage, path or array

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
        image = image if isinstance(image, PreparedImage) else PreparedImage(image)
        given, sizes = image.shape_for(self.max_side), self.patch_sizes
        shape = self.working_shape(given)
        step = self._step(min(given), min(shape))
        patches = sum(prod((side - size) // step + 1 for side in shape) for size in sizes)
        if patches > MAX_PATCHES:
            raise DDLCNError(
                f"step={self.step}: an image of {shape[1]} x {shape[0]} pixels would give {patches:,} "
                f"patches, over the limit of {MAX_PATCHES:,}; raise step or lower max_side={self.max_side}"
            )
        others = {name: v for name, v in self.get_params(deep=False).items() if name not in PatchDescriptor.rules}
        key = str(
            (type(self).__name__, shape, sizes, step, others)
        )  # steps that differ can be the same in small images
        if key not in image.computed:
            positions, of_each = _grid(shape, sizes, step)
            image.computed[key] = Descriptors(self.values(image, shape, step), positions, shape, of_each)
        return image.computed[key]

    def _step(self, given: int, side: int) -> int:
        """Pixels between patches of an image whose shortest side had `given` pixels and now has `side`."""
        step = self.step
        if self.min_side is not None:
            widest = max(step, 3 * min(self.patch_sizes) // 4)
            step = min(round(step * max(side / given, 1.0)), widest)
        return max(1, min(step, side // self.min_steps) if self.min_steps else step)

    def working_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the height and width that an image is resized to.

        Parameters
        ----------
        shape : (int, int)
            Height and width of the image as it was given.

        Returns
        -------
        (int, int)
        """
        self.check()
        largest_patch = max(self.patch_sizes)
        wanted = max(self.min_side or 0, largest_patch)
        scale = min(max(1.0, wanted / min(shape)), self.max_side / max(shape))
        height, width = (max(largest_patch, ceil(side * scale - 1e-9)) for side in shape)
        if height * width > MAX_PIXELS:
            raise DDLCNError(
                f"min_side={self.min_side}: an image would be enlarged to {width} x {height} pixels, over "
                f"the limit of {MAX_PIXELS // 10**6} million; lower min_side or max_side={self.max_side}"
            )
        return height, width


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
