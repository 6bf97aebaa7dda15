"""Rows of pixels for methods without patches: x = p/‖p‖₂, or random faces x = Rp/‖Rp‖₂.

p are the pixels at one size, and the rows of R are random directions of unit length. Wright, Yang, Ganesh,
Sastry, Ma: Robust face recognition via sparse representation, PAMI 2009; 504 dimensions for Extended Yale B
and 540 for AR are those of Jiang, Lin, Davis: Label consistent K-SVD, PAMI 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.images import read_grey, value_range
from ddlcn.layers.sift import DenseSIFT
from ddlcn_lab.methods.memory import check_memory


class Pixels(TransformerMixin, BaseEstimator):
    """Grey pixels as rows of unit length; images of other sizes than the first are resized to it.

    Parameters
    ----------
    longest_side : int, optional
        Shrink images so that no side exceeds this.
    power : float
        Raise grey values in [0, 1] to this power; 0.5 brings out what is dark.

    Examples
    --------
    >>> Pixels().fit_transform([np.eye(3), np.ones((6, 6))]).shape
    (2, 9)
    """

    def __init__(self, longest_side: int | None = None, power: float = 1.0) -> None:
        self.longest_side = longest_side
        self.power = power

    def fit(self, images: Any, y: object = None) -> Pixels:
        """Use the size of the first image for all."""
        self.value_range_ = value_range(images)
        height, width = read_grey(images[0], value_range=self.value_range_).shape
        scale = min(1.0, (self.longest_side or max(height, width)) / max(height, width))
        self.shape_ = max(1, round(height * scale)), max(1, round(width * scale))
        return self

    def images(self, images: Any) -> np.ndarray:
        """Grey images of one size (n, height, width), before any normalisation."""
        check_is_fitted(self)
        height, width = self.shape_
        what, remedy = f"{len(images)} images of {height}×{width} pixels", "set longest_side, or give fewer"
        check_memory(4 * len(images) * height * width, what, remedy)
        out = np.empty((len(images), *self.shape_), np.float32)
        for row, image in enumerate(images):
            grey = read_grey(image, value_range=self.value_range_)
            if grey.shape != self.shape_:
                resized = Image.fromarray(grey).resize(self.shape_[::-1], Image.Resampling.BICUBIC)
                grey = np.asarray(resized, np.float32)
            out[row] = grey if self.power == 1 else np.maximum(grey, 0) ** self.power
        return out

    def transform(self, images: Any) -> np.ndarray:
        """Pixels of images, one row of unit length each."""
        return unit_rows(self.images(images).reshape(len(images), -1))


class RandomFaces(Pixels):
    """Random projections of pixels as rows of unit length.

    Parameters
    ----------
    n_features : int
        Rows of R.
    longest_side, power
        As in `Pixels`.
    random_state : int
        Seeds R.

    Examples
    --------
    >>> RandomFaces(n_features=5).fit_transform(np.random.default_rng(0).uniform(size=(4, 8, 8))).shape
    (4, 5)
    """

    def __init__(
        self,
        n_features: int = 504,
        longest_side: int | None = None,
        power: float = 1.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(longest_side, power)
        self.n_features = n_features
        self.random_state = random_state

    def fit(self, images: Any, y: object = None) -> RandomFaces:
        """Draw R for the size of the first image."""
        super().fit(images)
        rng = np.random.default_rng(self.random_state)
        size = self.n_features, self.shape_[0] * self.shape_[1]
        self.projection_ = unit_rows(rng.standard_normal(size, dtype=np.float32))
        return self

    def transform(self, images: Any) -> np.ndarray:
        """Random faces of images, one row of unit length each."""
        pixels = self.images(images).reshape(len(images), -1)
        return unit_rows(pixels @ self.projection_.T)


class GradientHistograms(Pixels):
    """HOG: histograms of oriented gradients in blocks of 4 × 4 cells, normalised and clipped, side by side.

    Dalal and Triggs's R-HOG blocks are SIFT descriptors on a grid: here ours, with 8 signed orientations.

    Parameters
    ----------
    patch_size : int
        Side of a block.
    longest_side, power
        As in `Pixels`.

    Examples
    --------
    >>> GradientHistograms(patch_size=8).fit_transform(np.eye(16)[None]).shape
    (1, 1152)
    """

    def __init__(self, patch_size: int = 16, longest_side: int | None = 300, power: float = 1.0) -> None:
        super().__init__(longest_side, power)
        self.patch_size = patch_size

    def transform(self, images: Any) -> np.ndarray:
        """Histograms of images, one row of unit length each; blocks overlap by half."""
        sift = DenseSIFT(self.patch_size, self.patch_size // 2, contrast_threshold=0.05)
        blocks = np.prod([max(0, (side - self.patch_size) // (self.patch_size // 2) + 1) for side in self.shape_])
        need = 4 * len(images) * int(blocks) * 128
        check_memory(need, f"histograms of {len(images)} images", "set longest_side, or give fewer")
        parts = [sift.describe(self.images([image])[0]).values.ravel() for image in images]
        return unit_rows(np.stack(parts))


def unit_rows(X: np.ndarray) -> np.ndarray:
    """X with its rows scaled to unit length; rows of zeros stay.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-30)
