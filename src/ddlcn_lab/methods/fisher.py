"""Fisher vectors: how the descriptors of an image would change a mixture of Gaussians.

    p(x) = Σ_k w_k N(x; μ_k, diag σ_k²),   γ_ik = w_k N(x_i; μ_k, σ_k²) / p(x_i)

    G_μk = 1/(n√w_k) Σ_i γ_ik (x_i − μ_k)/σ_k,   G_σk = 1/(n√(2w_k)) Σ_i γ_ik [(x_i − μ_k)²/σ_k² − 1]

x_i are SIFT descriptors, reduced to their principal components. For each cell of a spatial pyramid all G_μk and G_σk
are put side by side, each value z becomes sign(z)√|z|, and the vector gets unit length; so does the row of all cells.
Perronnin, Sánchez, Mensink: Improving the Fisher kernel for large-scale image classification, ECCV 2010. Chatfield,
Lempitsky, Vedaldi, Zisserman (The devil is in the details, BMVC 2011) report 77.78 % on Caltech-101 with 30 training
images, 256 Gaussians, 80 components, patches of seven sizes every 3 pixels, and cells 1 × 1, 2 × 2 and 3 × 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.execution.progress import track
from ddlcn.images import value_range
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn_lab.methods.codebook import sample_descriptors
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.shared import rows_of_images


class FisherVectors(TransformerMixin, BaseEstimator):
    """Images to dense rows of unit length, for a linear SVM.

    Parameters
    ----------
    n_components : int
        Gaussians.
    n_dimensions : int
        Principal components of a descriptor.
    levels : tuple of int
        Cells per side at each level of the pyramid.
    descriptor : DenseSIFT, optional
    random_state : int
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    pca_ : PCA
    mixture_ : GaussianMixture
    """

    def __init__(
        self,
        n_components: int = 64,
        n_dimensions: int = 64,
        levels: tuple[int, ...] = (1, 2),
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_dimensions = n_dimensions
        self.levels = levels
        self.descriptor = descriptor
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: object = None) -> FisherVectors:
        """Learn the principal components and the mixture."""
        self._check_memory(len(images))
        self.descriptor_ = self.descriptor or DenseSIFT()
        self.value_range_ = value_range(images)
        Y = sample_descriptors(images, self.descriptor_, self.value_range_).astype(np.float64)
        n_components, n_dimensions = min(self.n_components, len(Y)), min(self.n_dimensions, *Y.shape)
        with one_blas_thread():
            self.pca_ = PCA(n_dimensions, svd_solver="full").fit(Y)
            mixture = GaussianMixture(
                n_components, covariance_type="diag", tol=1e-2, reg_covar=1e-4, random_state=self.random_state
            )
            for _ in track("Mixture", [None], total=1):
                self.mixture_ = mixture.fit(self.pca_.transform(Y))
        return self

    def transform(self, images: Any) -> np.ndarray:
        """Fisher vectors of images, one row each."""
        check_is_fitted(self)
        self._check_memory(len(images))
        return rows_of_images(self._row, images, self.n_jobs, "Encoding")

    def _check_memory(self, n_images: int) -> None:
        size = 2 * self.n_components * self.n_dimensions * sum(level**2 for level in self.levels)
        # a row, and its copy with column numbers for the SVM
        check_memory(16 * n_images * size, f"Fisher vectors of {n_images} images", "set n_components lower")

    def _row(self, image: Any) -> np.ndarray:
        found = self.descriptor_.describe(PreparedImage(image, self.value_range_))
        pyramid = SpatialPyramid(self.levels)
        cells, X = pyramid.cells(found.positions, found.shape), self.pca_.transform(found.values.astype(np.float64))
        shares = self.mixture_.predict_proba(X)
        parts = []
        for cell in range(pyramid.n_cells):
            inside = (cells == cell).any(axis=1)
            z = gradients(X[inside], shares[inside], self.mixture_)
            parts.append(np.sign(z) * np.sqrt(np.abs(z)))
        return unit_rows(unit_rows(np.stack(parts)).reshape(1, -1))[0].astype(np.float32)


def gradients(X: np.ndarray, shares: np.ndarray, mixture: GaussianMixture) -> np.ndarray:
    """G_μ and G_σ of descriptors, component by component.

    Parameters
    ----------
    X : array of shape (n, n_dimensions)
        Without rows, the gradients are zero.
    shares : array of shape (n, n_components)
        γ.
    mixture : GaussianMixture
        With diagonal covariances.

    Returns
    -------
    array of shape (2 · n_components · n_dimensions,)
    """
    w, mean, spread = mixture.weights_[:, None], mixture.means_, np.sqrt(mixture.covariances_)
    zeroth, first, second = shares.sum(axis=0)[:, None], shares.T @ X, shares.T @ X**2
    by_mean = (first - zeroth * mean) / spread
    by_spread = (second - 2 * mean * first + zeroth * mean**2) / spread**2 - zeroth
    n = max(len(X), 1)
    return np.concatenate([by_mean / (n * np.sqrt(w)), by_spread / (n * np.sqrt(2 * w))]).ravel()
