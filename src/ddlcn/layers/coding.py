"""Feature coding layers (Eqs. 5 to 7): a descriptor, or an atom, as a mixture of near atoms.

    min over γ of  ½‖y − Vγ‖² + β Σ_j ζ_j|γ_j|   subject to  1ᵀγ = 1,   ζ_j = ‖y − v_j‖₂

over the k atoms nearest to y. `LocalityCoder` solves it exactly; `LLCCoder` is the closed form of
locality-constrained linear coding. Codes are k indices and k values a descriptor, never dense.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError
from ddlcn.kernels import locality, neighbors
from ddlcn.layers.threads import one_blas_thread

_BLOCK = 512  # rows of the product with all atoms that are held at a time; no answer depends on it
_LARGE_BLOCK = 2048  # where the product is with some atoms only
_LARGEST_TABLE = 1024  # atoms; 8 MB
MAX_NEIGHBORS = 512  # that take part; the work for a descriptor grows with their cube
_NO_TABLE = np.empty((0, 0))


class Codes(NamedTuple):
    """Sparse codes: row i mixes the atoms `indices[i]`, nearest first, with weights `values[i]`."""

    indices: np.ndarray  # (n, k) int32
    values: np.ndarray  # (n, k) float32

    def dense(self, n_atoms: int) -> np.ndarray:
        """The codes as an (n, n_atoms) array."""
        out = np.zeros((len(self.indices), n_atoms), np.float32)
        np.put_along_axis(out, self.indices.astype(np.int64), self.values, axis=1)
        return out


class Codebook:
    """Atoms with what coding over them needs again and again.

    Parameters
    ----------
    atoms : array (n_atoms, n_features)
    guides : array (n_guides, n_features), optional
        Deeper atoms, to find near atoms by: each atom belongs to the guide nearest to it, and a descriptor is
        compared with the atoms of its nearest guides only, until they are the `share` of all.
    share : float
        Of 1/10 it finds 97 % of the 30 nearest of 5,000 atoms of digits (`docs/results/best.md`).
    """

    def __init__(self, atoms: ArrayLike, guides: np.ndarray | None = None, share: float = 1.0) -> None:
        self.atoms = np.ascontiguousarray(atoms, dtype=np.float32)
        self.squares = np.einsum("ij,ij->i", self.atoms, self.atoms)
        self.groups = None if guides is None or share >= 1 else _Groups(self.atoms, guides, share)

    @cached_property
    def apart(self) -> np.ndarray:
        """Squared distances between all atoms; empty for a dictionary whose table would not stay in cache."""
        return locality.distances_apart(self.atoms) if len(self.atoms) <= _LARGEST_TABLE else _NO_TABLE

    def nearest(self, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest atoms of each row of Y, nearest first, and their squared distances."""
        orders, squared = np.empty((len(Y), k), np.int64), np.empty((len(Y), k))
        if self.groups is not None:
            self.groups.search(Y, self, orders, squared)
        else:
            products = Y @ self.atoms.T
            neighbors.nearest(Y, self.atoms, self.squares, products, orders, squared)
        return orders, squared


class _Groups:
    """Atoms by their nearest guide, all in the order of their numbers."""

    def __init__(self, atoms: np.ndarray, guides: np.ndarray, share: float) -> None:
        self.guides = np.ascontiguousarray(guides.T, dtype=np.float32)
        self.squares = np.einsum("ij,ij->j", self.guides, self.guides)
        distances = [((atoms - guide.astype(np.float64)) ** 2).sum(axis=1) for guide in guides]
        owners = np.argmin(distances, axis=0)
        self.sizes = np.bincount(owners, minlength=len(guides))
        self.heads = np.concatenate([[0], np.cumsum(self.sizes)])
        self.members = np.argsort(owners, kind="stable")
        self.atoms = atoms[self.members]
        self.share = share

    def search(self, Y: np.ndarray, book: Codebook, orders: np.ndarray, squared: np.ndarray) -> None:
        """Fill in the nearest atoms of the rows of Y, each among the atoms of its nearest guides."""
        n_guides, least = len(self.sizes), max(orders.shape[1], ceil(self.share * len(self.members)))
        groups, starts = (np.empty((len(Y), n_guides), np.int32) for _ in range(2))
        most = neighbors.near_groups(Y, self.guides, self.squares, self.sizes, least, groups, starts)
        products = np.empty((len(Y), most), np.float32)
        heads, rows, places = neighbors.visitors(groups, n_guides)
        for own, theirs in zip(pairwise(self.heads), pairwise(heads), strict=True):
            visiting = slice(*theirs)
            found = Y[rows[visiting]] @ self.atoms[slice(*own)].T
            neighbors.spread(found, rows[visiting], places[visiting], starts, products)
        given = (book.atoms, book.squares, self.heads, self.members, groups, products)
        neighbors.nearest_of_groups(Y, *given, orders, squared)


class LocalityCoder(BaseEstimator):
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

    def __init__(self, n_neighbors: int = 15, beta: float = 0.01) -> None:
        self.n_neighbors = n_neighbors
        self.beta = beta

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`."""
        if not self.beta >= 0:
            raise DDLCNError(f"beta={self.beta}: must be zero or positive")
        return _encode(locality.encode_exact, Y, atoms, self.n_neighbors, float(self.beta))


class LLCCoder(BaseEstimator):
    """LLC's closed form: (C + ε tr(C) I)γ ∝ 1 over the k nearest atoms, summing to one. Stateless.

    Examples
    --------
    >>> codes = LLCCoder(n_neighbors=2).encode([[0.25, 0.0]], [[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    >>> codes.values.round(3)
    array([[0.75, 0.25]], dtype=float32)
    """

    def __init__(self, n_neighbors: int = 15, epsilon: float = 1e-4) -> None:
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`."""
        if not self.epsilon >= 0:
            raise DDLCNError(f"epsilon={self.epsilon}: must be zero or positive")
        return _encode(locality.encode_llc, Y, atoms, self.n_neighbors, float(self.epsilon))


def _encode(
    kernel: Callable[..., None], Y: ArrayLike, atoms: ArrayLike | Codebook, n_neighbors: int, weight: float
) -> Codes:
    Y = np.ascontiguousarray(Y, dtype=np.float32)
    book = atoms if isinstance(atoms, Codebook) else Codebook(atoms)
    if n_neighbors < 1 or len(book.atoms) < 1:
        raise DDLCNError(f"n_neighbors={n_neighbors} over {len(book.atoms)} atoms: both must be at least 1")
    k = min(n_neighbors, len(book.atoms))
    if k > MAX_NEIGHBORS:
        raise DDLCNError(f"n_neighbors={n_neighbors}: at most {MAX_NEIGHBORS} can take part; lower it")
    distinct, places = _blank_once(Y)
    indices, values = np.empty((len(distinct), k), np.int32), np.empty((len(distinct), k), np.float32)
    size = _BLOCK if book.groups is None else _LARGE_BLOCK
    with one_blas_thread():
        for start in range(0, len(distinct), size):
            rows = slice(start, start + size)
            found = book.nearest(distinct[rows], k)
            kernel(distinct[rows], book.atoms, book.apart, *found, weight, indices[rows], values[rows])
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
