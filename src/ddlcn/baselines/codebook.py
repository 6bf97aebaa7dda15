"""One codebook for all classes, coded and pooled over a pyramid: the shell of KC, ScSPM, LScSPM and LLC.

    atoms = k-means centres of descriptors, refined if the coder says how;  feature = pooled codes of an image

What tells the methods apart is the coder and the pooling: mean of kernel shares (KC), max of |lasso codes|
(ScSPM), max of locality-constrained codes (LLC: Wang, Yang, Yu, Lv, Huang, Gong, CVPR 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted

from ddlcn.baselines.memory import check_memory
from ddlcn.errors import DDLCNError
from ddlcn.images import value_range
from ddlcn.layers.coding import Codes, LLCCoder
from ddlcn.layers.network import Coder, Network
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.threads import one_blas_thread
from ddlcn.progress import track

_IMAGES_AT_ONCE = 32
_MOST_DESCRIPTORS = 100_000  # the codebook is learnt on no more than these, evenly drawn


class MeanPyramid(SpatialPyramid):
    """Cells that hold the mean of codes rather than their maximum."""

    def pool(
        self, codes: Codes, positions: np.ndarray, shape: tuple[int, int], n_atoms: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean of each atom's codes in each cell; there is no minimum."""
        cells = self.cells(positions, shape)
        size = self.n_cells * n_atoms
        places = (cells[:, :, None] * n_atoms + codes.indices[:, None, :]).ravel()
        values = np.broadcast_to(codes.values[:, None, :], (*cells.shape, codes.values.shape[1])).ravel()
        sums = np.bincount(places, values, minlength=size).reshape(self.n_cells, n_atoms)
        members = np.bincount(cells.ravel(), minlength=self.n_cells)[:, None]
        return (sums / np.maximum(members, 1)).astype(np.float32), np.zeros(sums.shape, np.float32)


class CodebookFeatures(TransformerMixin, BaseEstimator):
    """Images to sparse rows of unit length, for a linear SVM.

    Parameters
    ----------
    n_atoms : int
        Atoms of the codebook; no more than there are descriptors.
    coder : coder
        By default LLC with 5 neighbours.
    pooling : SpatialPyramid
        By default the maximum over 1 + 4 + 16 cells.
    descriptor : DenseSIFT
    """

    def __init__(
        self,
        n_atoms: int = 1024,
        coder: Coder | None = None,
        pooling: SpatialPyramid | None = None,
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.coder = coder
        self.pooling = pooling
        self.descriptor = descriptor
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: object = None) -> CodebookFeatures:
        """Learn the codebook."""
        if self.n_atoms < 1:
            raise DDLCNError(f"n_atoms={self.n_atoms}: must be at least 1")
        self.value_range_ = value_range(images)
        coder = LLCCoder(5) if self.coder is None else clone(self.coder)
        self.descriptor_ = DenseSIFT() if self.descriptor is None else clone(self.descriptor)
        most = max(1, _MOST_DESCRIPTORS // len(images))
        parts = []
        for image in track("Describing", images, total=len(images)):
            values = self.descriptor_.transform(image, self.value_range_).values
            parts.append(values[:: -(-len(values) // most)])
        Y = np.concatenate(parts)
        centres = MiniBatchKMeans(
            min(self.n_atoms, len(Y)), batch_size=4096, n_init=1, random_state=self.random_state
        )
        with one_blas_thread():
            for _ in track("Codebook", [None], total=1):
                self.atoms_ = centres.fit(Y).cluster_centers_.astype(np.float32)
            if hasattr(coder, "refine"):
                self.atoms_ = coder.refine(Y, self.atoms_)
        self.network_ = Network([self.atoms_], [coder], self.pooling or SpatialPyramid())
        need = 12 * len(images) * self._rows(images[:1]).nnz  # by the first image
        check_memory(need, f"features of {len(images)} images", "give fewer images or atoms")
        return self

    def transform(self, images: Any) -> csr_array:
        """Features of images, one sparse row each."""
        check_is_fitted(self)
        starts = range(0, len(images), _IMAGES_AT_ONCE)
        with one_blas_thread():
            work = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
                delayed(self._rows)(images[start : start + _IMAGES_AT_ONCE]) for start in starts
            )
            return vstack(list(track("Coding", work, total=len(starts))), format="csr")

    def _rows(self, images: Any) -> csr_array:
        return self.network_.rows(self.descriptor_.transform(image, self.value_range_) for image in images)
