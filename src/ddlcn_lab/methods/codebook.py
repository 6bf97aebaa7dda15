"""One codebook for all classes, pooled over a pyramid: the shell of KC, ScSPM, LScSPM and LLC.

    atoms = k-means centres of descriptors, refined if the coder has `refine`;  feature = pooled codes per image

The methods differ in coder and pooling: mean of kernel shares (KC), max of |lasso codes| (ScSPM), max of
locality-constrained codes (LLC: Wang, Yang, Yu, Lv, Huang, Gong, CVPR 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.channel import Channel
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.execution import session
from ddlcn.execution.progress import track
from ddlcn.images import value_range
from ddlcn.layers.coding import Codes, LLCCoder
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.learning import encoded
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.shared import cell_sums, kmeans_centres

_MAX_DESCRIPTORS = 100_000  # that the codebook is learnt on, evenly drawn


class MeanPyramid(SpatialPyramid):
    """Cells that hold the mean of codes instead of their maximum."""

    def pool_cells(self, codes: Codes, cells: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean of each atom's codes in each cell; the minimum is zero."""
        sums = cell_sums(codes, cells, self.n_cells, n_atoms)
        counts = np.bincount(cells.ravel(), minlength=self.n_cells)[:, None]
        return (sums / np.maximum(counts, 1)).astype(np.float32), np.zeros(sums.shape, np.float32)


class CodebookFeatures(TransformerMixin, BaseEstimator):
    """Images to sparse rows of unit length, for a linear SVM.

    Parameters
    ----------
    n_atoms : int
        Atoms of the codebook; at most the number of descriptors.
    coder : coder, optional
        By default LLC with 5 neighbours.
    pooling : SpatialPyramid, optional
        By default the maximum over 1 + 4 + 16 cells.
    descriptor : DenseSIFT, optional
    random_state : int
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    encoder_ : ImageEncoder
        With one channel, `codebook`.
    """

    def __init__(
        self,
        n_atoms: int = 1024,
        coder: Any = None,
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
        grey = value_range(images)
        coder: Any = LLCCoder(5) if self.coder is None else clone(self.coder)
        descriptor = DenseSIFT() if self.descriptor is None else clone(self.descriptor)
        Y = sample_descriptors(images, descriptor, grey)
        atoms = kmeans_centres(Y, self.n_atoms, self.random_state, "Codebook").astype(np.float32)
        if hasattr(coder, "refine"):
            with one_blas_thread():
                atoms = coder.refine(Y, atoms)
        channel = Channel("codebook", descriptor, coder, self.pooling or SpatialPyramid()).learnt((atoms,))
        self.encoder_ = ImageEncoder((channel,), (1.0,), grey)
        need = 12 * len(images) * self.encoder_.transform(images[:1]).nnz  # by the first image
        check_memory(need, f"features of {len(images)} images", "give fewer images or atoms")
        return self

    def transform(self, images: Any) -> csr_array:
        """Features of images, one sparse row per image."""
        check_is_fitted(self)
        with session(n_jobs=self.n_jobs) as run:
            return encoded(self.encoder_, images, run)


def sample_descriptors(images: Any, descriptor: Any, grey: tuple[float, float]) -> np.ndarray:
    """Draw descriptors of images evenly, at most 100,000.

    Parameters
    ----------
    images : sequence of images
    descriptor : DenseSIFT
    grey : (float, float)
        Value range of the images.

    Returns
    -------
    array of shape (n, n_features)
    """
    per_image = max(1, _MAX_DESCRIPTORS // len(images))
    parts = []
    for image in track("Describing", images, total=len(images)):
        values = descriptor.describe(PreparedImage(image, grey)).values
        parts.append(values[:: -(-len(values) // per_image)])
    return np.concatenate(parts)
