"""What the authors' released code computes, which is not what the paper says (docs/deviations.md).

    min over γ of  ½‖y − Vγ‖² + 0.15 Σ_j w_j|γ_j|,   w_j = 10/ζ_j on the 15 nearest atoms, 0.01 elsewhere

with ζ_j² = Σ(y − v_j)⁴, no sum-to-one, and the path stopped at 15 atoms: the nearest atoms are the dearest,
so it never uses them. The second layer codes atoms likewise with 10, and its codes are placed by rank: slot i
holds the i-th non-zero atom in index order, so the identity of the atom is lost. If there are not exactly 15,
the slots silently hold the first 15 atoms.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.kernels.lasso import released_codes
from ddlcn.layers.coding import Codebook, Codes
from ddlcn.layers.network import Network
from ddlcn.layers.pyramid import SpatialPyramid

_BLOCK = 512  # descriptors whose products with all atoms are held at a time; no answer depends on it


class _Codebook(Codebook):
    """Atoms with their Gram matrix."""

    @cached_property
    def gram(self) -> np.ndarray:
        """V Vᵀ in float64."""
        wide = self.atoms.astype(np.float64)
        return wide @ wide.T


class ReleasedCoder(BaseEstimator):
    """The authors' weighted lasso, stopped at `n_neighbors` atoms. Stateless.

    >>> atoms = np.eye(4, dtype=np.float32)
    >>> codes = ReleasedCoder(n_neighbors=1).encode(atoms[:1] * 0.9 + atoms[3:] * 0.4, atoms)
    >>> codes.indices, codes.values.round(2)  # atom 0 is the nearest, hence barred
    (array([[3]], dtype=int32), array([[0.4]], dtype=float32))
    """

    def __init__(self, n_neighbors: int = 15, penalty: float = 0.15) -> None:
        self.n_neighbors = n_neighbors
        self.penalty = penalty

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y`: the non-zeros in index order, then unused atoms at zero."""
        Y = np.ascontiguousarray(Y, dtype=np.float32)
        if not isinstance(atoms, _Codebook):
            atoms = _Codebook(atoms.atoms if isinstance(atoms, Codebook) else atoms)
        blocks = [self._encode(Y[start : start + _BLOCK], atoms) for start in range(0, len(Y), _BLOCK)]
        return Codes(*map(np.concatenate, zip(*blocks, strict=True)))

    def _encode(self, Y: np.ndarray, book: _Codebook) -> Codes:
        shape = len(Y), min(self.n_neighbors, len(book.atoms))
        codes = Codes(np.empty(shape, np.int32), np.empty(shape, np.float32))
        correlations = Y @ book.atoms.T.astype(np.float64)
        released_codes(Y, book.atoms, book.gram, correlations, self.penalty, *codes)
        return codes


class ReleasedNetwork(Network):
    """First-layer codes, and second-layer codes by slot, pooled side by side."""

    @cached_property
    def codebook(self) -> Codebook:
        """The first dictionary, made ready for coding."""
        return _Codebook(self.dictionaries[0])

    @property
    def _slots(self) -> int:
        return min(self.coders[0].n_neighbors, len(self.dictionaries[0]))  # type: ignore[attr-defined]

    @property
    def n_features(self) -> int:
        """Length of an image feature: s1 + 15·s2 a cell."""
        return self.pyramid.n_cells * (len(self.dictionaries[0]) + self._slots * len(self.dictionaries[1]))

    def _row(self, codes: Codes, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gamma = codes.dense(len(self.dictionaries[0]))
        full = (codes.values != 0).all(axis=1, keepdims=True)
        atoms = np.where(full, codes.indices, np.arange(self._slots))
        placed = np.take_along_axis(gamma, atoms, axis=1)[:, :, None] * self.tables[0][atoms]
        every = np.hstack([gamma, placed.reshape(len(gamma), -1)])
        pooled = np.zeros((self.pyramid.n_cells, every.shape[1]), np.float32)
        for level in cells.T:
            order = np.argsort(level, kind="stable")
            found, starts = np.unique(level[order], return_index=True)
            pooled[found] = np.maximum.reduceat(every[order], starts)
        columns = np.flatnonzero(pooled).astype(np.int32)
        values = pooled.ravel()[columns]
        return columns, values / max(float(np.linalg.norm(values)), 1e-30)


class ReleasedClassifier(DDLCNClassifier):
    """The released pipeline end to end; two layers, always; it can't be saved or explained."""

    def _network(self, dictionaries: list[np.ndarray]) -> Network:
        coders = [ReleasedCoder(n) for n in self._settings.neighbors]
        return ReleasedNetwork(dictionaries, coders, SpatialPyramid(self._settings.pyramid))

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Refuse: model files hold the paper's network."""
        raise DDLCNError("ddlcn-released is for comparison and has no model file: train `ddlcn` instead")

    def explain(self, image: Any, label: Any = None) -> NoReturn:
        """Refuse: slots forget which atom they held, so there is no evidence to trace."""
        raise DDLCNError("ddlcn-released loses the identity of atoms, so it can't explain: use `ddlcn`")
