"""Convolutional clustering: k-means whose filters may slide over their patches.

    max over unit filters w and choices f, u of  Σ_i ⟨w_f(i), P_u(i) y_i⟩

y_i is a window almost twice as wide as a filter, and P_u cuts out the patch at place u. Each window is assigned
to the filter and the place that fit best, so that filters need not repeat a shape at several places, as those of
k-means on patches do. A layer filters, keeps what is positive, and takes maxima of 2 × 2 pixels; the
second learns on the maps of the first. Both layers' maps, max-pooled over 4 × 4 cells, go to a linear SVM.
Dundar, Jin, Culurciello: Convolutional clustering for unsupervised learning, ICLR workshop 2016, who learn
with labels which maps a filter of the second layer uses; here a filter uses all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn_lab.methods.hmp import damped, windows
from ddlcn_lab.methods.inputs import Pixels, unit_rows
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.shared import rows_of_images

_CELLS = 4  # per side
_WINDOWS = 4_000  # windows that filters are learnt on


class ClusteredFilters(TransformerMixin, BaseEstimator):
    """Images to rows of pooled responses of two layers.

    Parameters
    ----------
    n_filters : tuple of int
        Filters of each layer.
    side : int
        Side of a filter, odd.
    passes : int
        Alternations of assignment and averaging.
    longest_side : int, optional
        Shrink images so that no side exceeds this.
    random_state : int
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    filters_ : list of two arrays (n_filters, side · side · n_maps)
    """

    def __init__(
        self,
        n_filters: tuple[int, int] = (32, 64),
        side: int = 5,
        passes: int = 10,
        longest_side: int | None = 96,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_filters = n_filters
        self.side = side
        self.passes = passes
        self.longest_side = longest_side
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: object = None) -> ClusteredFilters:
        """Learn the filters of both layers."""
        self.pixels_ = Pixels(self.longest_side).fit(images)
        wide = 2 * self.side - 1
        if self.side % 2 == 0 or self.side < 3 or min(self.pixels_.shape_) < 2 * wide:
            what = f"side={self.side} on images of {self.pixels_.shape_} pixels"
            raise DDLCNError(f"{what}: give an odd side of 3 or more, and images {2 * wide} pixels wide")
        self._check_memory(len(images))
        rng, self.filters_ = np.random.default_rng(self.random_state), []
        drawn = images[:: -(-len(images) // 500)]
        each = -(-_WINDOWS // len(drawn))
        with one_blas_thread():
            for n in self.n_filters:
                parts = []
                for image in track("Windows", drawn, total=len(drawn)):
                    maps = self._maps(image)[-1]
                    places = zip(*(rng.integers(0, s - wide + 1, each) for s in maps.shape[:2]), strict=True)
                    parts += [maps[top : top + wide, left : left + wide] for top, left in places]
                self.filters_.append(convolutional_kmeans(np.stack(parts), n, self.side, self.passes, rng))
        return self

    def transform(self, images: Any) -> np.ndarray:
        """Features of images, one row of unit length each."""
        check_is_fitted(self)
        self._check_memory(len(images))
        return unit_rows(rows_of_images(self._row, images, self.n_jobs, "Filtering"))

    def _check_memory(self, n_images: int) -> None:
        need = 4 * n_images * sum(self.n_filters) * _CELLS**2
        check_memory(need, f"features of {n_images} images", "give fewer filters")

    def _row(self, image: Any) -> np.ndarray:
        return np.concatenate([_pooled(maps, _CELLS).ravel() for maps in self._maps(image)[1:]])

    def _maps(self, image: Any) -> list[np.ndarray]:
        """The image, then the maps of each layer learnt so far."""
        maps = [self.pixels_.images([image])[0][:, :, None]]
        for filters in self.filters_:
            maps.append(respond(maps[-1], filters, self.side))
        return maps


def convolutional_kmeans(
    parts: np.ndarray, n_filters: int, side: int, passes: int, rng: np.random.Generator
) -> np.ndarray:
    """Learn filters on windows.

    Parameters
    ----------
    parts : array of shape (n, width, width, n_maps)
    n_filters, side, passes : int
    rng : Generator

    Returns
    -------
    array of shape (n_filters, side · side · n_maps)
        Of unit length.
    """
    places = [_patches(part, side) for part in parts]
    middle = np.stack([each[len(each) // 2] for each in places])
    filters = unit_rows(middle[rng.permutation(len(middle))[:n_filters]])
    for _ in track("Clustering", range(passes), total=passes):
        sums = np.zeros_like(filters)
        for each in places:
            fit = each @ filters.T
            place, best = np.unravel_index(fit.argmax(), fit.shape)
            sums[best] += each[place]
        used = np.linalg.norm(sums, axis=1) > 1e-12
        filters[used] = unit_rows(sums[used])  # a filter without windows stays
    return filters


def respond(maps: np.ndarray, filters: np.ndarray, side: int) -> np.ndarray:
    """Return positive responses to filters, the maxima of 2 × 2 pixels: (height // 2, width // 2, n_filters)."""
    padded = np.pad(maps, ((side // 2,) * 2, (side // 2,) * 2, (0, 0)), "edge")
    response = (_patches(padded, side) @ filters.T).reshape(*maps.shape[:2], -1)
    height, width = maps.shape[0] // 2, maps.shape[1] // 2
    halves = response[: 2 * height, : 2 * width].reshape(height, 2, width, 2, -1)
    return np.maximum(halves.max(axis=(1, 3)), 0)


def _patches(maps: np.ndarray, side: int) -> np.ndarray:
    rows = windows(maps, side)
    return damped(rows - rows.mean(axis=1, keepdims=True)).astype(np.float32)


def _pooled(maps: np.ndarray, cells: int) -> np.ndarray:
    """The largest response in each of cells × cells parts of maps."""
    rows, columns = (np.linspace(0, side, cells + 1).astype(int)[:-1] for side in maps.shape[:2])
    return np.maximum.reduceat(np.maximum.reduceat(maps, rows, axis=0), columns, axis=1)
