"""Covariance pooling: which descriptors occur together in an image or a cell of it, where, and how often.

With x_i a descriptor, followed by the position of its patch and 1, P from the training images, and n patches in a cell,

    z_i = P x_i,   S = Σ_i z_i z_iᵀ / n,   L = log((S + ε) / (1 + ε))

P whitens: over the training images the mean of S is the identity (if the cell is the whole image), so that L is zero
for a mean image. The logarithm of a matrix acts on its eigenvalues; with it, straight lines between covariances make
sense to a linear SVM (the log-Euclidean metric of Arsigny et al., 2006; covariances as descriptors: Tuzel, Porikli and
Meer, 2006). Since 1 is among the numbers, S has the mean of descriptors beside their covariance. Cells of a grid, as
in second-order pooling (Carreira et al., 2012), suit objects; the whole image as one cell suits textures.

**Evidence.** With f(λ) = log((λ + ε) / (1 + ε)) and g(λ) = (f(λ) − f(0)) / λ, which is finite at 0,

    L = f(0) + g(S) S = Σ_i [f(0) + g(S) z_i z_iᵀ] / n

so a linear score tr(A L) is a sum over patches, with nothing approximated: tr(A) f(0) / n + z_iᵀ A g(S) z_i / n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ddlcn.blas import one_blas_thread
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn.rules import number, whole

N_PLACE = 3  # numbers beside a descriptor: row and column as shares of the image's sides, and 1
_PER_PATCH = 2  # components per patch of a cell, at most: on MNIST (7 patches per cell) 14 do better than 64
_SMALLEST_SCALE = 1e-4  # of a number of a descriptor, relative to the largest
_SMALLEST_LENGTH = 1e-3  # of L: that of an image which is the mean of the training images, but for rounding, is 0
_SMALLEST_VARIANCE = 1e-6  # of a principal component, relative to the largest


class LogCovariance(Part):
    """The logarithm of the covariance of whitened descriptors in each cell of a grid; cells have the same length.

    Parameters
    ----------
    n_components : int
        Principal components of descriptors with positions: at most this many, and at most two per patch of a cell.
    epsilon : float
        Added to variances, which are 1 on average: smaller ones count as equal.
    side : int
        Cells per side of the image.
    """

    role, later = "pooling", ("side",)
    rules: ClassVar = {"n_components": whole(1, 512), "epsilon": number(1e-6, 1e3), "side": whole(1, 16)}

    def __init__(self, n_components: int = 64, epsilon: float = 0.1, side: int = 1) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.side = side

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.side**2

    @staticmethod
    def moment(image: Descriptors) -> np.ndarray:
        """Return Σ x xᵀ / n of an image, in float64.

        Parameters
        ----------
        image : Descriptors

        Returns
        -------
        array of shape (n_features + 3, n_features + 3)
        """
        x = np.concatenate([image.values, _place(image)], axis=1)
        with one_blas_thread():
            return (x.T @ x).astype(np.float64) / len(x)

    def whitening(self, moment: np.ndarray, n_patches: int) -> np.ndarray:
        """Return P, by which the principal components of the mean moment of images have variance 1.

        Parameters
        ----------
        moment : array of shape (n, n)
        n_patches : int
            Patches of an image.

        Returns
        -------
        array of shape (n_components or fewer, n)
        """
        most = min(self.n_components, max(1, _PER_PATCH * n_patches // self.n_cells))
        scale = np.sqrt(np.diag(moment))
        scale[scale < _SMALLEST_SCALE * scale.max()] = np.inf  # zero but for rounding: not used
        with one_blas_thread():
            variances, vectors = np.linalg.eigh(moment / scale / scale[:, None])
        kept = np.flatnonzero(variances > _SMALLEST_VARIANCE * variances[-1])[::-1][:most]
        return ((vectors[:, kept] / np.sqrt(variances[kept])).T / scale).astype(np.float32)

    def pool(self, images: Sequence[Descriptors], whitening: np.ndarray) -> np.ndarray:
        """Return the upper triangles of L, entries beside the diagonal times √2, of all cells; of unit length.

        Parameters
        ----------
        images : sequence of Descriptors
        whitening : array
            What `whitening` returns.

        Returns
        -------
        array of shape (n_images, n_cells k (k + 1) / 2) for k components, float32
            Zero for a cell without patches, and for one with L = 0.
        """
        k = len(whitening)
        places, factors = _triangle(k)
        S, used = np.zeros((len(images), self.n_cells, k, k)), np.zeros((len(images), self.n_cells), np.bool_)
        with one_blas_thread():
            for image, own_S, own_used in zip(images, S, used, strict=True):
                every = _whitened(image, whitening)
                for cell, own in self._patches(image):
                    z = every[own]
                    own_S[cell], own_used[cell] = z.T @ z / len(z), True
            variances, vectors = np.linalg.eigh(S)
            L = (vectors * self._log(variances)[..., None, :]) @ vectors.swapaxes(2, 3)
        found = np.take(L.reshape(*used.shape, k * k), places, axis=2) * factors
        lengths = np.linalg.norm(found, axis=2)
        used &= lengths >= _SMALLEST_LENGTH
        lengths = np.where(used, lengths, np.inf) * np.sqrt(np.maximum(used.sum(axis=1, keepdims=True), 1))
        return (found / lengths[..., None]).reshape(len(images), -1).astype(np.float32)

    def shares(self, image: Descriptors, whitening: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Share coef · `pool` out among patches, exactly.

        Parameters
        ----------
        image : Descriptors
        whitening : array
        coef : array of shape (n_cells k (k + 1) / 2,)

        Returns
        -------
        array of shape (n_patches,)
        """
        found, n_used = np.zeros(len(image.values)), 0
        with one_blas_thread():
            every = _whitened(image, whitening)
            for cell, own in self._patches(image):
                z, weights = every[own], _symmetric(coef.reshape(self.n_cells, -1)[cell], len(whitening))
                variances, vectors = np.linalg.eigh(z.T @ z / len(z))
                length = np.linalg.norm(self._log(variances))
                if length >= _SMALLEST_LENGTH:
                    each = ((z @ weights @ vectors) * self._slope(variances) * (z @ vectors)).sum(axis=1)
                    found[own] = (each + self._log(0.0) * np.trace(weights)) / (len(z) * length)
                    n_used += 1
        return found / np.sqrt(max(n_used, 1))

    def _patches(self, image: Descriptors) -> Iterator[tuple[int, Any]]:
        """The cells that have patches, and the indices of these patches."""
        if self.side == 1:
            return iter([(0, slice(None))])  # without copies
        cells = SpatialPyramid((self.side,)).cells(image.positions, image.shape)[:, 0]
        return ((cell, np.flatnonzero(cells == cell)) for cell in np.unique(cells).tolist())

    def _log(self, variances: Any) -> Any:
        return np.log((np.maximum(variances, 0) + self.epsilon) / (1 + self.epsilon))

    def _slope(self, variances: np.ndarray) -> np.ndarray:
        """g, from which f(λ) = f(0) + λ g(λ)."""
        small = variances < 1e-9
        safe = np.where(small, 1, variances)
        return np.where(small, 1 / self.epsilon, (self._log(safe) - self._log(0.0)) / safe)


def _place(image: Descriptors) -> np.ndarray:
    positions = image.positions / np.array(image.shape, np.float32)
    return np.concatenate([positions, np.ones((len(positions), 1), np.float32)], axis=1)


def _whitened(image: Descriptors, whitening: np.ndarray) -> np.ndarray:
    """z in float64; descriptors and places apart, which saves a copy of the descriptors."""
    z = image.values @ whitening[:, :-N_PLACE].T + _place(image) @ whitening[:, -N_PLACE:].T
    return z.astype(np.float64)


@cache
def _triangle(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the upper triangle in a matrix, and factors by which inner products are those of matrices."""
    rows, columns = np.triu_indices(k)
    return rows * k + columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def _symmetric(values: np.ndarray, k: int) -> np.ndarray:
    """The matrix A for which values · (upper triangle of L as `pool` has it) is tr(A L)."""
    places, factors = _triangle(k)
    found = np.zeros((k, k))
    found.flat[places] = values * factors / 2
    return found + found.T
