"""PCANet: filters that are principal components of patches, binarised and counted in blocks.

    W = argmin over WWᵀ = I of ‖P − PWᵀW‖²,   P: k × k patches of the training images, less their means

filters images with L₁ such W; a second stage does so again with the maps as images. The signs of the last
stage's L maps are the bits of a pattern at each pixel, and the counts of the 2^L patterns in each block are the
feature. The nearest training image in χ² = Σ (a − b)²/(a + b) gives the label. Chan, Jia, Gao, Lu, Zeng, Ma:
PCANet, TIP 2015; 5 × 5 filters, 8 per stage, and disjoint 8 × 8 blocks are theirs for Extended Yale B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn_lab.kernels import filters as kernels
from ddlcn_lab.methods.inputs import Pixels
from ddlcn_lab.methods.memory import check_memory

_MOST_FILTER_IMAGES = 200  # filters are learnt on no more images than these, evenly drawn: 6 million patches
_UNIT = 2.0**-30  # of table entries; far below what could change an order


class PCANet(ClassifierMixin, BaseEstimator):
    """PCANet with one or two stages, and the nearest neighbour in χ².

    Parameters
    ----------
    stages : int
        1 or 2.
    n_filters, filter_size : int
        L, the filters of a stage, at most 8; and k, their odd side.
    block : int
        Side of the blocks in which patterns are counted.
    longest_side : int, optional
        Shrink images so that no side exceeds this.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        stages: int = 2,
        n_filters: int = 8,
        filter_size: int = 5,
        block: int = 8,
        longest_side: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.stages = stages
        self.n_filters = n_filters
        self.filter_size = filter_size
        self.block = block
        self.longest_side = longest_side
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: ArrayLike) -> PCANet:
        """Learn filters on images, and store the counts of each."""
        if self.stages not in (1, 2) or not 1 <= self.n_filters <= 8 or self.filter_size % 2 == 0:
            raise DDLCNError(
                f"stages={self.stages}, n_filters={self.n_filters}, filter_size={self.filter_size}: "
                "give 1 or 2 stages of at most 8 filters with an odd side"
            )
        if not 2 <= self.block <= 15:
            raise DDLCNError(f"block={self.block}: give a side of 2 to 15 pixels")
        self.pixels_ = Pixels(self.longest_side).fit(images)
        height, width = self.pixels_.shape_
        if min(height, width) < max(self.block, self.filter_size):
            raise DDLCNError(f"images of {height}×{width} pixels are smaller than a block of {self.block}")
        need = len(images) * height * width * 2 * self.n_filters ** (self.stages - 1)
        check_memory(need, f"counts of {len(images)} images", "set longest_side, or give fewer")
        self.classes_, self.targets_ = np.unique(np.asarray(y), return_inverse=True)
        drawn = images[:: -(-len(images) // _MOST_FILTER_IMAGES)]
        maps, self.filters_ = list(self.pixels_.images(drawn)), []
        with one_blas_thread():
            for stage in range(self.stages):
                self.filters_.append(self._principal(maps))
                if stage + 1 < self.stages:
                    maps = [each for image in maps for each in _maps(image, self.filters_[0])]
        found = self._counts(images, "Counting")
        self.bins_, self.counts_ = (np.concatenate([each[i] for each in found]) for i in (0, 1))
        self.starts_ = np.stack([each[2] for each in found])
        self.offsets_ = np.concatenate([[0], np.cumsum(self.starts_[:, -1])])
        return self

    def predict(self, images: Any) -> np.ndarray:
        """The label of the nearest training image."""
        check_is_fitted(self)
        a = np.arange(self.block**2 + 1.0)
        table = (4 * a[:, None] * a / np.maximum(a[:, None] + a, 1) / _UNIT).round().astype(np.int64)
        work = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._nearest)(image, table) for image in images
        )
        return self.classes_[self.targets_[list(track("Predicting", work, total=len(images)))]]

    def _principal(self, maps: list[np.ndarray]) -> np.ndarray:
        """The leading principal directions of patches less their means, as filters."""
        side = self.filter_size
        total = np.zeros((side * side, side * side))
        for image in track("Filters", maps, total=len(maps)):
            patches = np.lib.stride_tricks.sliding_window_view(image, (side, side)).reshape(-1, side * side)
            total += patches.T @ patches
        centre = np.eye(side * side) - 1 / side**2
        directions = np.linalg.eigh(centre @ total @ centre)[1][:, ::-1][:, : self.n_filters].T
        return np.ascontiguousarray(directions.reshape(-1, side, side), np.float32)

    def _counts(self, images: Any, stage: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        work = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._count)(image) for image in images
        )
        return list(track(stage, work, total=len(images)))

    def _count(self, image: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        grey = self.pixels_.images([image])[0]
        inputs = _maps(grey, self.filters_[0]) if self.stages == 2 else grey[None]
        maps = np.stack([_maps(each, self.filters_[-1]) for each in inputs])
        bins, counts = (np.empty(inputs.size, np.uint8) for _ in range(2))
        starts = np.zeros(len(inputs) * np.prod([side // self.block for side in grey.shape]) + 1, np.int32)
        n = kernels.block_counts(maps, self.block, bins, counts, starts)
        return bins[:n].copy(), counts[:n].copy(), starts

    def _nearest(self, image: Any, table: np.ndarray) -> int:
        bins, counts, starts = self._count(image)
        dense = np.zeros((len(starts) - 1, 1 << self.n_filters), np.uint8)
        dense[np.repeat(np.arange(len(dense)), np.diff(starts)), bins] = counts
        stored = self.bins_, self.counts_, self.offsets_, self.starts_
        return int(kernels.chi_square_distances(dense, *stored, table, _UNIT).argmin())


def _maps(image: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """One map for each filter."""
    out = np.empty((len(filters), *image.shape), np.float32)
    kernels.convolve(image, filters, out)
    return out
