"""M-HMP: sparse codes of patches, pooled and encoded again, along two paths.

    D, X = argmin ‖Y − XD‖² + γ Σ_{i≠j} (d_i·d_jᵀ)²   subject to  ‖x‖₀ ≤ T,   codes by matching pursuit

The first path encodes 16 × 16 patches of pixels. The second encodes 5 × 5 patches around every pixel, takes the
largest positive and negative part of each code in cells of 4 × 4 pixels, and encodes blocks of 4 × 4 cells, so
that it covers the same 16 × 16 pixels through two layers. The codes of a path are max-pooled over a spatial
pyramid, and paths are put side by side for a linear SVM. Bo, Ren, Fox: Multipath sparse coding using
hierarchical matching pursuit, CVPR 2013, who have paths of 36 × 36 patches and of three layers too, in
colour. Only one image's codes are held at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn_lab.methods.coders import largest
from ddlcn_lab.methods.inputs import Pixels, unit_rows
from ddlcn_lab.methods.ksvd import incoherent_ksvd, omp_codes
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.shared import rows_of_images

_SMALL, _CELL, _BLOCK = 5, 4, 4  # pixels of a small patch, pixels of a cell, cells of a block
_PATCH = _CELL * _BLOCK
_LEARNT_ON = 3_000  # patches that a dictionary is learnt on


class MultipathFeatures(TransformerMixin, BaseEstimator):
    """Images to rows of pooled codes, two paths of unit length side by side.

    Parameters
    ----------
    small_atoms, atoms : int
        Atoms for small patches, and of the last layer of each path.
    small_sparsity, sparsity : int
        T of each.
    longest_side : int, optional
        Shrink images so that no side exceeds this.
    random_state : int
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    small_, patch_, block_ : arrays
        Atoms for 5 × 5 patches, for 16 × 16 patches, and for blocks of pooled codes.
    """

    def __init__(
        self,
        small_atoms: int = 75,
        atoms: int = 256,
        small_sparsity: int = 5,
        sparsity: int = 10,
        longest_side: int | None = 300,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.small_atoms = small_atoms
        self.atoms = atoms
        self.small_sparsity = small_sparsity
        self.sparsity = sparsity
        self.longest_side = longest_side
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: object = None) -> MultipathFeatures:
        """Learn the dictionaries, layer by layer."""
        self.pixels_ = Pixels(self.longest_side).fit(images)
        if min(self.pixels_.shape_) < _PATCH:
            raise DDLCNError(f"images of {self.pixels_.shape_} pixels are smaller than a patch of {_PATCH}")
        self._check_memory(len(images))
        with one_blas_thread():
            small, last = (self.small_atoms, self.small_sparsity), (self.atoms, self.sparsity)
            self.small_ = self._dictionary("Small patches", images, self._small_rows, *small)
            self.patch_ = self._dictionary("Patches", images, self._patch_rows, *last)
            self.block_ = self._dictionary("Blocks", images, self._block_rows, *last)
        return self

    def transform(self, images: Any) -> np.ndarray:
        """Features of images, one row each."""
        check_is_fitted(self)
        self._check_memory(len(images))
        return rows_of_images(self._row, images, self.n_jobs, "Encoding")

    def _check_memory(self, n_images: int) -> None:
        need = 4 * n_images * 2 * SpatialPyramid().n_cells * self.atoms
        check_memory(need, f"features of {n_images} images", "set atoms lower")

    def _dictionary(self, stage: str, images: Any, rows: Any, n_atoms: int, sparsity: int) -> np.ndarray:
        """Atoms for the rows of at most 500 images, evenly drawn."""
        rng = np.random.default_rng(self.random_state)
        drawn = images[:: -(-len(images) // 500)]
        each = -(-_LEARNT_ON // len(drawn))
        parts = []
        for image in track(stage, drawn, total=len(drawn)):
            found = rows(self._grey(image))
            parts.append(found[rng.permutation(len(found))[:each]])
        return incoherent_ksvd(np.concatenate(parts), n_atoms, sparsity, self.random_state)

    def _grey(self, image: Any) -> np.ndarray:
        return self.pixels_.images([image])[0].astype(np.float64)

    def _small_rows(self, grey: np.ndarray) -> np.ndarray:
        return centred(windows(np.pad(grey, _SMALL // 2, "edge"), _SMALL))

    def _patch_rows(self, grey: np.ndarray) -> np.ndarray:
        """Patches of pixels that lie where blocks of cells do."""
        return centred(windows(grey, _PATCH, _CELL))

    def _block_rows(self, grey: np.ndarray) -> np.ndarray:
        """Blocks of cells of pooled codes of small patches."""
        codes = omp_codes(self._small_rows(grey), self.small_, self.small_sparsity)
        cells = pool_cells(codes.reshape(*grey.shape, -1), _CELL)
        return damped(windows(cells, _BLOCK))

    def _row(self, image: Any) -> np.ndarray:
        grey, pyramid = self._grey(image), SpatialPyramid()
        tops, lefts = (np.arange(0, side - _PATCH + 1, _CELL) + _PATCH / 2 for side in grey.shape)
        centres = np.stack(np.meshgrid(tops, lefts, indexing="ij"), axis=-1).reshape(-1, 2)
        paths = []
        for rows, atoms in ((self._patch_rows(grey), self.patch_), (self._block_rows(grey), self.block_)):
            codes = largest(np.abs(omp_codes(rows, atoms, self.sparsity)), self.sparsity)
            paths.append(pyramid.pool(codes, centres, grey.shape, len(atoms))[0].ravel())
        return unit_rows(np.stack(paths)).astype(np.float32).ravel()


def windows(maps: np.ndarray, side: int, step: int = 1) -> np.ndarray:
    """Square windows of an image (h, w) or of maps (h, w, n), a row each.

    Parameters
    ----------
    maps : array
    side, step : int
        Of the windows, in pixels.

    Returns
    -------
    array of shape (n_windows, side · side · n)

    Examples
    --------
    >>> windows(np.arange(9).reshape(3, 3), 2)[1]
    array([1, 2, 4, 5])
    """
    found = np.lib.stride_tricks.sliding_window_view(maps, (side, side), axis=(0, 1))[::step, ::step]
    return found.reshape(found.shape[0] * found.shape[1], -1)


def pool_cells(codes: np.ndarray, cell: int) -> np.ndarray:
    """The largest of x⁺ and of x⁻ in each cell of codes (h, w, n): (h // cell, w // cell, 2n).

    Examples
    --------
    >>> pool_cells(np.array([[[1.0], [-3.0]], [[2.0], [0.0]]]), 2)
    array([[[2., 3.]]])
    """
    height, width = codes.shape[0] // cell, codes.shape[1] // cell
    blocks = codes[: height * cell, : width * cell].reshape(height, cell, width, cell, -1)
    high, low = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    return np.concatenate([np.maximum(high, 0), np.maximum(-low, 0)], axis=2)


def centred(rows: np.ndarray) -> np.ndarray:
    """Rows less their mean, damped."""
    return damped(rows - rows.mean(axis=1, keepdims=True))


def damped(rows: np.ndarray) -> np.ndarray:
    """x / (‖x‖₂ + 0.1): of unit length where there is contrast."""
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 0.1)
