"""What the authors' released code computes, which is not what the paper says (docs/deviations.md).

    min over γ of  ½‖y − Vγ‖² + 0.15 Σ_j w_j|γ_j|,   w_j = 10/ζ_j on the 15 nearest atoms, 0.01 elsewhere

with ζ_j² = Σ(y − v_j)⁴, no sum-to-one, and the path stopped at 15 atoms. The nearest atoms have the largest penalty,
so it never uses them. The second layer encodes atoms in the same way with 10 neighbours, and its codes are placed by
rank: slot i has the i-th non-zero atom in index order, so the identity of the atom is lost. If there are not exactly
15, the slots have the first 15 atoms.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ddlcn.channel import Block, Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import Codebook, Codes
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn_lab.kernels.lasso import released_codes

_BLOCK = 512  # descriptors whose products with all atoms are held at a time; no result depends on it


class _Codebook(Codebook):
    """Atoms with their Gram matrix."""

    @cached_property
    def gram(self) -> np.ndarray:
        """V Vᵀ in float64."""
        wide = self.atoms.astype(np.float64)
        return wide @ wide.T


class ReleasedCoder(Part):
    """The authors' weighted lasso, stopped at `n_neighbors` atoms. Stateless.

    Parameters
    ----------
    n_neighbors : int
        Nearest atoms with a large penalty, and the largest number of atoms in a code.
    penalty : float

    Examples
    --------
    >>> atoms = np.eye(4, dtype=np.float32)
    >>> codes = ReleasedCoder(n_neighbors=1).encode(atoms[:1] * 0.9 + atoms[3:] * 0.4, atoms)
    >>> codes.indices, codes.values.round(2)  # atom 0 is the nearest, so it is not used
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
        blocks = [self._encode(Y[start : start + _BLOCK], atoms) for start in range(0, max(1, len(Y)), _BLOCK)]
        return Codes(*map(np.concatenate, zip(*blocks, strict=True)))

    def _encode(self, Y: np.ndarray, book: _Codebook) -> Codes:
        shape = len(Y), min(self.n_neighbors, len(book.atoms))
        codes = Codes(np.empty(shape, np.int32), np.empty(shape, np.float32))
        correlations = Y @ book.atoms.T.astype(np.float64)
        released_codes(Y, book.atoms, book.gram, correlations, self.penalty, *codes)
        return codes


class ReleasedChannel(Channel):
    """A channel of two layers that max-pools first-layer codes and, beside them, second-layer codes by slot.

    Parameters are those of `Channel`, with a `ReleasedCoder` for each layer and two dictionaries.
    """

    @cached_property
    def codebook(self) -> Codebook:
        """The first dictionary, prepared for coding."""
        return _Codebook(self.dictionaries[0])

    @cached_property
    def n_features(self) -> int:
        """Length of a block: s1 + 15·s2 per cell."""
        V, U = self.dictionaries
        return self.pooling.n_cells * (len(V) + min(self.coder.n_neighbors, len(V)) * len(U))

    def blocks(self, images: list[Descriptors]) -> list[Block]:
        """Return the blocks of some images, of unit length each."""
        return [self._block(image) for image in images]

    def _block(self, image: Descriptors) -> Block:
        every = with_slots(self.codes(image.values), self.tables[0])
        pooled = np.zeros((self.pooling.n_cells, every.shape[1]), np.float32)
        for level in self.pooling.cells(image.positions, image.shape).T:
            order = np.argsort(level, kind="stable")
            found, starts = np.unique(level[order], return_index=True)
            pooled[found] = np.maximum.reduceat(every[order], starts)
        columns = np.flatnonzero(pooled).astype(np.int32)
        values = pooled.ravel()[columns]
        return Block(columns, values / np.float32(max(float(np.linalg.norm(values)), 1e-30)))


def with_slots(codes: Codes, table: np.ndarray) -> np.ndarray:
    """Dense first-layer codes, and beside them second-layer codes by slot.

    Parameters
    ----------
    codes : Codes
        Of n descriptors over s1 atoms, k non-zeros at most.
    table : (s1, s2) array
        Codes of these atoms over those of the second layer.

    Returns
    -------
    (n, s1 + k·s2) array
    """
    gamma = codes.dense(len(table))
    full = (codes.values != 0).all(axis=1, keepdims=True)
    atoms = np.where(full, codes.indices, np.arange(codes.indices.shape[1]))
    placed = np.take_along_axis(gamma, atoms, axis=1)[:, :, None] * table[atoms]
    return np.hstack([gamma, placed.reshape(len(gamma), -1)])


class ReleasedClassifier(DDLCNClassifier):
    """A classifier with a `ReleasedChannel`; it can't be saved or explained."""

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Raise an error: model files have no such channel."""
        raise DDLCNError("ddlcn-released is for comparison and has no model file: train `ddlcn` instead")

    def explain(self, image: Any, label: Any = None) -> NoReturn:
        """Raise an error: slots do not tell which atom they had, so there is no evidence."""
        raise DDLCNError("ddlcn-released loses the identity of atoms, so it can't explain: use `ddlcn`")
