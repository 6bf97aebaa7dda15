"""Coders of other methods, with the interface of `LocalityCoder`: `encode(Y, atoms) -> Codes`.

LassoCoder      min_x ½‖y − Dᵀx‖² + λ‖x‖₁
LaplacianCoder  the same + ½β Σ_i ‖x − x_i‖² over the codes x_i of the k templates nearest to y
KernelCoder     x_j = k(y, d_j) / Σ_i k(y, d_i), k Gaussian

The first is SRC's, and that of ScSPM (Yang, Yu, Gong, Huang: Linear spatial pyramid matching using sparse
coding, CVPR 2009); the second LScSPM's (Gao, Tsang, Chia, Zhao: Local features are not lonely, CVPR 2010);
the third KC's (van Gemert, Geusebroek, Veenman, Smeulders, ECCV 2008).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn.kernels.l1ball import update_atoms
from ddlcn.layers.coding import Codebook, Codes
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.inputs import unit_rows


class LassoCoder(BaseEstimator):
    """Exact lasso codes. Stateless.

    Parameters
    ----------
    penalty : float
        λ.
    absolute : bool
        Give |x|, whose largest is what ScSPM pools.

    Examples
    --------
    >>> codes = LassoCoder(penalty=0.1).encode([[1.0, -0.5]], np.eye(2))
    >>> codes.indices, codes.values.round(2)
    (array([[0, 1]], dtype=int32), array([[ 0.9, -0.4]], dtype=float32))
    """

    def __init__(self, penalty: float = 0.15, absolute: bool = False) -> None:
        self.penalty = penalty
        self.absolute = absolute

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`, largest first."""
        if not self.penalty > 0:
            raise DDLCNError(f"penalty={self.penalty}: must be positive")
        Y, D = np.asarray(Y, np.float64), _atoms(atoms)
        codes = lasso_codes(D @ D.T, Y @ D.T, float(self.penalty), D.shape[1] + 1)
        return largest(np.abs(codes) if self.absolute else codes)

    def refine(self, Y: np.ndarray, atoms: np.ndarray, passes: int = 5) -> np.ndarray:
        """Atoms that lower Σ ½‖y − Dᵀx‖² + λ‖x‖₁ over at most 20,000 rows of `Y`, on ‖d‖₂ ≤ 1."""
        Y = np.asarray(Y[:: -(-len(Y) // 20_000)], np.float64)
        D = unit_rows(_atoms(atoms))
        for _ in track("Refining", range(passes), total=passes):
            products, samples = np.zeros((len(D), len(D))), np.zeros(D.shape)
            gram = D @ D.T
            for start in range(0, len(Y), 2048):
                rows = Y[start : start + 2048]
                x = lasso_codes(gram, rows @ D.T, float(self.penalty), D.shape[1] + 1)
                products += x.T @ x
                samples += x.T @ rows
            update_atoms(D, products, samples)
        return D.astype(np.float32)


class LaplacianCoder(LassoCoder):
    """Lasso codes that stay near the codes of similar descriptors. Call `refine` first.

    Templates are descriptors whose codes were found together: each minimises its own problem given the codes
    of its neighbours, one after another.

    Parameters
    ----------
    smoothness : float
        β.
    n_neighbors, n_templates : int
        k, and how many descriptors are templates.

    Attributes
    ----------
    templates_, template_codes_ : arrays
    """

    def __init__(
        self,
        penalty: float = 0.15,
        absolute: bool = False,
        smoothness: float = 0.1,
        n_neighbors: int = 5,
        n_templates: int = 2000,
    ) -> None:
        super().__init__(penalty, absolute)
        self.smoothness = smoothness
        self.n_neighbors = n_neighbors
        self.n_templates = n_templates

    def refine(self, Y: np.ndarray, atoms: np.ndarray, passes: int = 5) -> np.ndarray:
        """Atoms as for plain lasso codes; then the templates and their codes."""
        atoms = super().refine(Y, atoms, passes)
        self.templates_ = np.asarray(Y[:: -(-len(Y) // self.n_templates)], np.float64)
        D = _atoms(atoms)
        self.template_codes_ = lasso_codes(D @ D.T, self.templates_ @ D.T, float(self.penalty), D.shape[1] + 1)
        near = self._nearest(self.templates_, self.n_neighbors + 1)[:, 1:]  # the nearest is itself
        for _ in range(passes):
            self.template_codes_ = self._smooth(self.templates_, D, near)
        return atoms

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`, largest first."""
        if not hasattr(self, "template_codes_"):
            raise DDLCNError("LaplacianCoder has no templates yet: call refine(Y, atoms) first")
        Y = np.asarray(Y, np.float64)
        codes = self._smooth(Y, _atoms(atoms), self._nearest(Y, self.n_neighbors))
        return largest(np.abs(codes) if self.absolute else codes)

    def _nearest(self, Y: np.ndarray, k: int) -> np.ndarray:
        distances = np.einsum("ij,ij->i", self.templates_, self.templates_) - 2 * Y @ self.templates_.T
        return np.argsort(distances, axis=1, kind="stable")[:, :k]

    def _smooth(self, Y: np.ndarray, D: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Each row's minimum, given the codes of its neighbours."""
        gram = D @ D.T + self.smoothness * near.shape[1] * np.eye(len(D))
        pull = sum(self.template_codes_[column] for column in near.T)
        return lasso_codes(gram, Y @ D.T + self.smoothness * pull, float(self.penalty), len(D))


class KernelCoder(BaseEstimator):
    """Kernel codebook: shares of a Gaussian at y in the atoms near it. Stateless.

    Parameters
    ----------
    width : float
        σ of the Gaussian.
    n_neighbors : int
        Atoms that get a share; farther ones get less than rounding where σ is small.

    Examples
    --------
    >>> KernelCoder(width=1.0, n_neighbors=2).encode([[0.0]], [[0.0], [1.0], [9.0]]).values.round(3)
    array([[0.622, 0.378]], dtype=float32)
    """

    def __init__(self, width: float = 0.3, n_neighbors: int = 20) -> None:
        self.width = width
        self.n_neighbors = n_neighbors

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`, largest first."""
        if not self.width > 0 or self.n_neighbors < 1:
            raise DDLCNError(f"width={self.width}, n_neighbors={self.n_neighbors}: both must be positive")
        Y, D = np.asarray(Y, np.float64), _atoms(atoms)
        nearness = (Y @ D.T - 0.5 * np.einsum("ij,ij->i", D, D)) / self.width**2
        shares = np.exp(nearness - nearness.max(axis=1, keepdims=True))
        indices, values = largest(shares, self.n_neighbors)
        return Codes(indices, values / values.sum(axis=1, keepdims=True))


def _atoms(atoms: ArrayLike | Codebook) -> np.ndarray:
    return np.asarray(atoms.atoms if isinstance(atoms, Codebook) else atoms, np.float64)


def largest(dense: np.ndarray, most: int | None = None) -> Codes:
    """Return the largest entries of each row.

    Parameters
    ----------
    dense : array of shape (n, n_atoms)
    most : int, optional
        Their number per row; all that are not zero by default.

    Returns
    -------
    Codes
    """
    size = np.abs(dense)
    k = max(1, min(most or int((size > 0).sum(axis=1).max(initial=1)), dense.shape[1]))
    indices = np.argpartition(-size, k - 1, axis=1)[:, :k]
    indices = np.take_along_axis(indices, np.argsort(-np.take_along_axis(size, indices, 1), axis=1), 1)
    values = np.take_along_axis(dense, indices, axis=1)
    return Codes(indices.astype(np.int32), values.astype(np.float32))
