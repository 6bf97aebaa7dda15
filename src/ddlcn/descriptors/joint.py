"""SIFT and colour of the same patches, side by side: what covariances over an image are taken of."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ddlcn.descriptors.color import ColorStatistics
from ddlcn.layers.patches import PatchDescriptor
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.rules import FLAG


class JointDescriptor(PatchDescriptor):
    """The numbers of `DenseSIFT`, then those of `ColorStatistics`, of each patch.

    Parameters
    ----------
    patch_size, step, min_steps, max_side, min_side : int
        See `PatchDescriptor`.
    contrast_threshold : float
        See `DenseSIFT`.
    color : bool
        Whether colour is described; if not, descriptors are those of `DenseSIFT`.

    Examples
    --------
    >>> JointDescriptor().describe(np.eye(32)).values.shape
    (9, 224)
    """

    role = "descriptor"
    rules: ClassVar = DenseSIFT.rules | {"color": FLAG}

    def __init__(
        self,
        patch_size: int | tuple[int, ...] = 16,
        step: int = 6,
        min_steps: int | None = None,
        max_side: int = 300,
        min_side: int | None = None,
        contrast_threshold: float = 1.0,
        color: bool = True,
    ) -> None:
        super().__init__(patch_size, step, min_steps, max_side, min_side)
        self.contrast_threshold = contrast_threshold
        self.color = color

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Numbers that describe a patch."""
        return DenseSIFT.n_features + (ColorStatistics.n_features if self.color else 0)

    def for_grey(self) -> JointDescriptor:
        """Return the descriptor for images without colour."""
        return type(self)(**self.get_params() | {"color": False}) if self.color else self

    def values(self, image: PreparedImage, shape: tuple[int, int], step: int) -> np.ndarray:
        """Return the descriptors of all patches of an image at working size, size by size, row by row."""
        patches = self.get_params(deep=False)
        del patches["color"]
        sift = image.described(DenseSIFT(**patches)).values
        if not self.color:
            return sift
        del patches["contrast_threshold"]
        return np.concatenate([sift, image.described(ColorStatistics(**patches)).values], axis=1)
