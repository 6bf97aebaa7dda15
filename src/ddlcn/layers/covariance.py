"""Covariance pooling: which descriptors of an image occur together, where, and how often.

With x_i a descriptor, followed by the position of its patch and 1, and P from the training images,

    z_i = P x_i,   S = Σ_i z_i z_iᵀ / n,   L = log((S + ε) / (1 + ε))

P whitens: over the training images the mean of S is the identity, so that L is zero for a mean image. The
logarithm of a matrix acts on its eigenvalues; with it, straight lines between covariances make sense to a linear SVM
(the log-Euclidean metric of Arsigny et al., 2006; covariances as descriptors: Tuzel, Porikli and Meer, 2006). Since 1
is among the numbers, S has the mean of descriptors beside their covariance.

**Evidence.** With f(λ) = log((λ + ε) / (1 + ε)) and g(λ) = (f(λ) − f(0)) / λ, which is finite at 0,

    L = f(0) + g(S) S = Σ_i [f(0) + g(S) z_i z_iᵀ] / n

so a linear score tr(A L) is a sum over patches, with nothing approximated: tr(A) f(0) / n + z_iᵀ A g(S) z_i / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from ddlcn.blas import one_blas_thread
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn.rules import number, whole

N_PLACE = 3  # numbers beside a descriptor: row and column as shares of the image's sides, and 1
_SMALLEST_SCALE = 1e-4  # of a number of a descriptor, relative to the largest
_SMALLEST_LENGTH = 1e-3  # of L: that of an image which is the mean of the training images, but for rounding, is 0
_SMALLEST_VARIANCE = 1e-6  # of a principal component, relative to the largest


class LogCovariance(Part):
    """The logarithm of the covariance of whitened descriptors.

    Parameters
    ----------
    n_components : int
        Principal components of descriptors with positions, at most.
    epsilon : float
        Added to variances, which are 1 on average: smaller ones count as equal.
    """

    role = "pooling"
    rules: ClassVar = {"n_components": whole(1, 512), "epsilon": number(1e-6, 1e3)}
    n_cells = 1

    def __init__(self, n_components: int = 64, epsilon: float = 0.1) -> None:
        self.n_components = n_components
        self.epsilon = epsilon

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

    def whitening(self, moment: np.ndarray) -> np.ndarray:
        """Return P, by which the principal components of the mean moment of images have variance 1.

        Parameters
        ----------
        moment : array of shape (n, n)

        Returns
        -------
        array of shape (n_components or fewer, n)
        """
        scale = np.sqrt(np.diag(moment))
        scale[scale < _SMALLEST_SCALE * scale.max()] = np.inf  # zero but for rounding: not used
        with one_blas_thread():
            variances, vectors = np.linalg.eigh(moment / scale / scale[:, None])
        kept = np.flatnonzero(variances > _SMALLEST_VARIANCE * variances[-1])[::-1][: self.n_components]
        return ((vectors[:, kept] / np.sqrt(variances[kept])).T / scale).astype(np.float32)

    def pool(self, images: Sequence[Descriptors], whitening: np.ndarray) -> np.ndarray:
        """Return L of each image at unit length: its upper triangle, entries beside the diagonal times √2.

        Parameters
        ----------
        images : sequence of Descriptors
        whitening : array
            What `whitening` returns.

        Returns
        -------
        array of shape (n_images, k (k + 1) / 2) for k components, float32
            Zero for an image that is the mean of the training images.
        """
        found = []
        with one_blas_thread():
            for _, same in groupby(images, key=lambda image: len(image.values)):  # one call of LAPACK for all of them
                logs = self._log_matrices(np.stack([_whitened(image, whitening) for image in same]))
                rows, columns, factors = _triangle(len(whitening))
                found.append(logs[:, rows, columns] * factors)
        values = np.concatenate(found)
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        values = np.where(lengths < _SMALLEST_LENGTH, 0, values / np.maximum(lengths, _SMALLEST_LENGTH))
        return values.astype(np.float32)

    def shares(self, image: Descriptors, whitening: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Share coef · `pool` out among patches, exactly.

        Parameters
        ----------
        image : Descriptors
        whitening : array
        coef : array of shape (k (k + 1) / 2,)

        Returns
        -------
        array of shape (n_patches,)
        """
        k = len(whitening)
        rows, columns, factors = _triangle(k)
        weights = np.zeros((k, k))
        weights[rows, columns] = coef * factors / 2
        weights += weights.T  # A
        with one_blas_thread():
            z = _whitened(image, whitening).astype(np.float64)
            variances, vectors = np.linalg.eigh(z.T @ z / len(z))
            each = ((z @ weights @ vectors) * self._slope(variances) * (z @ vectors)).sum(axis=1)
        length = np.linalg.norm(self._log(variances))
        if length < _SMALLEST_LENGTH:
            return np.zeros(len(z))
        return (each + self._log(0.0) * np.trace(weights)) / (len(z) * length)

    def _log_matrices(self, z: np.ndarray) -> np.ndarray:
        """L of some images; if patches are fewer than components, by their Gram matrix: f(0) + Zᵀ g(Z Zᵀ / n) Z / n."""
        _, n, k = z.shape
        transposed = z.swapaxes(1, 2)
        if n >= k:
            variances, vectors = np.linalg.eigh((transposed @ z).astype(np.float64) / n)
            return (vectors * self._log(variances)[:, None]) @ vectors.swapaxes(1, 2)
        variances, vectors = np.linalg.eigh((z @ transposed).astype(np.float64) / n)
        projected = transposed @ vectors
        logs = (projected * self._slope(variances)[:, None]) @ projected.swapaxes(1, 2) / n
        logs[:, np.arange(k), np.arange(k)] += self._log(0.0)
        return logs

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
    """z; descriptors and places apart, which saves a copy of the descriptors."""
    return image.values @ whitening[:, :-N_PLACE].T + _place(image) @ whitening[:, -N_PLACE:].T


@cache
def _triangle(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the upper triangle, and factors by which inner products are those of matrices."""
    rows, columns = np.triu_indices(k)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))
