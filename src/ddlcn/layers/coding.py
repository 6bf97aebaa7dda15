"""Feature coding layers (Eqs. 5 to 7): a descriptor, or an atom, as a mixture of near atoms.

    min over γ of  ½‖y − Vγ‖² + β Σ_j ζ_j|γ_j|   subject to  1ᵀγ = 1,   ζ_j = ‖y − v_j‖₂

over the k atoms nearest to y. `LocalityCoder` solves it exactly; `LLCCoder` is the closed form of
locality-constrained linear coding. Codes are k indices and k values per descriptor, never dense.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.kernels import locality, neighbors, pooling
from ddlcn.layers.part import Part
from ddlcn.rules import number, whole

_BLOCK = 512  # rows of the product with all atoms that are held at a time; no answer depends on it
_LARGEST_TABLE = 1536  # atoms; 19 MB
MAX_NEIGHBORS = 512  # that take part; the work for a descriptor grows with their cube
_NO_TABLE = np.empty((0, 0))


class Codes(NamedTuple):
    """Sparse codes: row i mixes the atoms `indices[i]`, nearest first, with weights `values[i]`."""

    indices: np.ndarray  # (n, k) int32
    values: np.ndarray  # (n, k) float32

    def dense(self, n_atoms: int) -> np.ndarray:
        """Return the codes as an array, with zeros for atoms that take no part.

        Parameters
        ----------
        n_atoms : int

        Returns
        -------
        array of shape (n, n_atoms), float32
        """
        out = np.zeros((len(self.indices), n_atoms), np.float32)
        np.put_along_axis(out, self.indices.astype(np.int64), self.values, axis=1)
        return out


class Codebook:
    """Atoms with what coding over them needs again and again."""

    def __init__(self, atoms: ArrayLike) -> None:
        self.atoms = np.ascontiguousarray(atoms, dtype=np.float32)
        self.squares = np.einsum("ij,ij->i", self.atoms, self.atoms)

    @cached_property
    def pairwise_distances(self) -> np.ndarray:
        """Squared distances between all atoms; empty for a dictionary whose table would not stay in cache."""
        return locality.pairwise_distances(self.atoms) if len(self.atoms) <= _LARGEST_TABLE else _NO_TABLE

    def nearest(self, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest atoms of descriptors.

        Parameters
        ----------
        Y : array of shape (n, n_features), float32
        k : int

        Returns
        -------
        orders, squared : arrays of shape (n, k)
            Numbers of atoms, the nearest first, and squared distances.
        """
        orders, squared = np.empty((len(Y), k), np.int64), np.empty((len(Y), k))
        neighbors.nearest(Y, self.atoms, self.squares, Y @ self.atoms.T, orders, squared)
        return orders, squared


class LocalityCoder(Part):
    """Exact locality-constrained codes (Eqs. 5 to 7). Stateless: the atoms are an argument.

    Parameters
    ----------
    n_neighbors : int
        k, the number of nearest atoms that may take part.
    beta : float
        β, the price of using far atoms.

    Examples
    --------
    >>> atoms = [[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]]
    >>> codes = LocalityCoder(n_neighbors=2, beta=0.01).encode([[0.25, 0.0]], atoms)
    >>> codes.indices, codes.values.round(3)
    (array([[0, 1]], dtype=int32), array([[0.755, 0.245]], dtype=float32))
    """

    role = "coder"
    rules: ClassVar = {"n_neighbors": whole(1, MAX_NEIGHBORS), "beta": number(0, 1e6)}

    def __init__(self, n_neighbors: int = 15, beta: float = 0.01) -> None:
        self.n_neighbors = n_neighbors
        self.beta = beta

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Encode descriptors.

        Parameters
        ----------
        Y : array of shape (n, n_features)
        atoms : array of shape (n_atoms, n_features), or Codebook

        Returns
        -------
        Codes
        """
        self.check()
        return _encode(locality.encode_exact, Y, atoms, self.n_neighbors, float(self.beta))


class LLCCoder(Part):
    """LLC's closed form: (C + ε tr(C) I)γ ∝ 1 over the k nearest atoms, summing to one. Stateless.

    Parameters
    ----------
    n_neighbors : int
        k, the number of nearest atoms that take part.
    epsilon : float
        ε, the regularisation.

    Examples
    --------
    >>> codes = LLCCoder(n_neighbors=2).encode([[0.25, 0.0]], [[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    >>> codes.values.round(3)
    array([[0.75, 0.25]], dtype=float32)
    """

    role = "coder"
    rules: ClassVar = {"n_neighbors": whole(1, MAX_NEIGHBORS), "epsilon": number(0, 1e6)}

    def __init__(self, n_neighbors: int = 15, epsilon: float = 1e-4) -> None:
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Encode descriptors.

        Parameters
        ----------
        Y : array of shape (n, n_features)
        atoms : array of shape (n_atoms, n_features), or Codebook

        Returns
        -------
        Codes
        """
        self.check()
        return _encode(locality.encode_llc, Y, atoms, self.n_neighbors, float(self.epsilon))


class LinearCoder(Part):
    """Linear codes over all atoms at once: h = argmin ‖y − Uᵀh‖² + ridge ‖h‖² = U (UᵀU + ridge I)⁻¹ y. Stateless.

    Parameters
    ----------
    ridge : float

    Examples
    --------
    >>> LinearCoder(ridge=1.0).encode([[2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    array([[1., 0.]], dtype=float32)
    """

    role = "coder"
    rules: ClassVar = {"ridge": number(1e-9, 1e9)}

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def matrix(self, atoms: ArrayLike) -> np.ndarray:
        """Return the matrix that maps a descriptor to its code.

        Parameters
        ----------
        atoms : array of shape (n_atoms, n_features)

        Returns
        -------
        array of shape (n_features, n_atoms), float32
        """
        self.check()
        U = np.asarray(atoms, dtype=np.float64)
        with one_blas_thread():
            found = np.linalg.solve(U.T @ U + self.ridge * np.eye(U.shape[1]), U.T)
        return np.ascontiguousarray(found, dtype=np.float32)

    def encode(self, Y: ArrayLike, atoms: ArrayLike) -> np.ndarray:
        """Encode descriptors over all atoms at once.

        Parameters
        ----------
        Y : array of shape (n, n_features)
        atoms : array of shape (n_atoms, n_features)

        Returns
        -------
        array of shape (n, n_atoms), float32
        """
        Y = np.ascontiguousarray(Y, dtype=np.float32)
        return pooling.linear_codes(Y, self.matrix(atoms))


def _encode(
    kernel: Callable[..., None], Y: ArrayLike, atoms: ArrayLike | Codebook, n_neighbors: int, weight: float
) -> Codes:
    Y = np.ascontiguousarray(Y, dtype=np.float32)
    book = atoms if isinstance(atoms, Codebook) else Codebook(atoms)
    if not len(book.atoms):
        raise DDLCNError("there are no atoms to encode with: give at least one")
    k = min(n_neighbors, len(book.atoms))
    distinct, places = _blank_once(Y)
    indices, values = np.empty((len(distinct), k), np.int32), np.empty((len(distinct), k), np.float32)
    with one_blas_thread():
        for start in range(0, len(distinct), _BLOCK):
            rows = slice(start, start + _BLOCK)
            found = book.nearest(distinct[rows], k)
            kernel(distinct[rows], book.atoms, book.pairwise_distances, *found, weight, indices[rows], values[rows])
    return Codes(indices[places], values[places])


def _blank_once(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | slice]:
    """Rows of Y without the zero ones that follow the first, and the place of each row among them.

    All atoms are about equally far from a blank patch, so that it takes the longest to code.

    >>> _blank_once(np.array([[1], [0], [2], [0]]))
    (array([[1],
           [0],
           [2]]), array([0, 1, 2, 1]))
    """
    blank = np.flatnonzero(~Y.any(axis=1))
    if len(blank) < 2:
        return Y, slice(None)
    kept = np.ones(len(Y), np.bool_)
    kept[blank[1:]] = False
    places = np.cumsum(kept) - 1
    places[blank] = blank[0]
    return Y[kept], places
