"""Algorithm 1: the stack of coding layers, its augmentation, and the image feature it gives.

The code γ(v_j) of a descriptor at atom j is augmented to γ(v_j)·[1, c_j], where c_j lists the layer-2 code
g_j of atom j, each entry followed by its own augmentation from layer 3, and so on. c_j depends on j alone.

**The collapse.** With M_j = max_i γ_i(j) and m_j = min_i γ_i(j) over a cell, max-pooling a constant times a
code is `max_i γ_i(j)·a = a·M_j` for a ≥ 0 and `a·m_j` for a < 0. So the inner product of two pooled,
augmented features, Σ_j Σ_{a in [1, c_j]}, is that of the short features

    [ M_j·‖[1, c_j]⁺‖,  m_j·‖[1, c_j]⁻‖ ]

and so is their length. A linear SVM sees no difference: in the paper's formula depth reweights atoms and
adds a min-pooled channel, no more. `expand=True` builds the literal vector all the same.

**The deep channel** is what depth can add all the same. A descriptor y of the smallest patches is coded over
all deeper atoms U at once, h = argmin ‖y − Uᵀh‖² + ε‖h‖² = U(UᵀU + εI)⁻¹y: a number for each deeper atom, few
enough to be averaged over a fine grid, which keeps the position that pooling loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from ddlcn.kernels import pooling
from ddlcn.layers.coding import Codebook, Codes
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.rows import MemoryRows
from ddlcn.layers.sift import Descriptors
from ddlcn.layers.threads import one_blas_thread

DEEP_SIDE = 16  # cells a side of the deep channel's grid
_DEEP_RIDGE = 0.01
_DESCRIPTORS_AT_ONCE = 2048
_MANY_CODES = 4  # for each atom
_MANY_ATOMS = 4096  # from here on, to compare a descriptor with all of them is most of the work


class Coder(Protocol):
    """What a layer codes with: `LocalityCoder`, `LLCCoder`, or anything alike."""

    def encode(self, Y: ArrayLike, atoms: ArrayLike | Codebook) -> Codes:
        """Codes of the rows of `Y` over the rows of `atoms`."""
        ...


class Network:
    """Learnt dictionaries and their coders, from descriptors to an image feature.

    Parameters
    ----------
    dictionaries : sequence of arrays (n_atoms, n_features)
        V, U, …: a dictionary for each layer, each learnt on the atoms of the one before.
    coders : sequence of coders
        One for each layer.
    pyramid : SpatialPyramid
    min_channel : bool
        Pool plain minima beside the maxima, whatever the depth.
    expand : bool
        Give the literal augmented vector of Algorithm 1 instead of its exact short form.
    power : float
        Exponent on the size of a code: below 1, small codes count for more beside large ones.
    deep : float
        Length of the deep channel beside pooled codes of length 1; 0 leaves it out.
    search : float
        Share of the first layer's atoms that a descriptor is compared with, if they are many: those that
        belong to the deeper atoms nearest to it.
    """

    def __init__(
        self,
        dictionaries: Sequence[np.ndarray],
        coders: Sequence[Coder],
        pyramid: SpatialPyramid,
        min_channel: bool = False,
        expand: bool = False,
        power: float = 1.0,
        deep: float = 0.0,
        search: float = 1.0,
    ) -> None:
        self.dictionaries = list(dictionaries)
        self.coders = list(coders)
        self.pyramid = pyramid
        self.min_channel = min_channel
        self.expand = expand
        self.power = power
        self.deep = deep
        self.search = search

    @cached_property
    def codebook(self) -> Codebook:
        """The first dictionary, made ready for coding."""
        atoms, *deeper = self.dictionaries
        if len(atoms) <= _MANY_ATOMS or not deeper:
            return Codebook(atoms)
        return Codebook(atoms, deeper[0], self.search)

    @cached_property
    def _all_atoms(self) -> np.ndarray:
        return np.arange(len(self.dictionaries[0]))

    @cached_property
    def tables(self) -> list[np.ndarray]:
        """Codes of each layer's atoms over the next layer's: (s1, s2), (s2, s3), …"""
        return [
            coder.encode(atoms, deeper).dense(len(deeper))
            for atoms, deeper, coder in zip(
                self.dictionaries[:-1], self.dictionaries[1:], self.coders[1:], strict=True
            )
        ]

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """‖[1, c_j]⁺‖ and ‖[1, c_j]⁻‖ for each first-layer atom; the second is empty if all are zero."""
        positive, negative = np.ones(len(self.dictionaries[-1])), np.zeros(len(self.dictionaries[-1]))
        with one_blas_thread():
            for table in reversed(self.tables):
                up, down = np.maximum(table, 0.0) ** 2, np.minimum(table, 0.0) ** 2
                positive, negative = 1 + up @ positive + down @ negative, up @ negative + down @ positive
        if self.min_channel:
            negative = negative + 1
        if not negative.any():
            negative = np.empty(0)
        return np.sqrt(positive).astype(np.float32), np.sqrt(negative).astype(np.float32)

    @cached_property
    def augmentation(self) -> np.ndarray:
        """[1, c_j] of each first-layer atom: (s1, 1 + s2·(1 + s3·(…)))."""
        deeper = np.ones((len(self.dictionaries[-1]), 1), np.float32)
        for table in reversed(self.tables):
            below = (table[:, :, None] * deeper).reshape(len(table), -1)
            deeper = np.hstack([np.ones((len(table), 1), np.float32), below])
        return deeper

    @cached_property
    def deep_coder(self) -> np.ndarray:
        """The linear map of a descriptor to its code over all deeper atoms: (n_features, n_deeper_atoms)."""
        atoms = np.concatenate(self.dictionaries[1:]).astype(np.float64)
        ridge = _DEEP_RIDGE * np.eye(atoms.shape[1])
        with one_blas_thread():
            found = np.linalg.solve(atoms.T @ atoms + ridge, atoms.T)
        return np.ascontiguousarray(found, dtype=np.float32)

    @property
    def n_features(self) -> int:
        """Length of an image feature."""
        return self.n_pooled + (self.n_deep if self.deep else 0)

    @property
    def n_deep(self) -> int:
        """Length of the deep channel."""
        return DEEP_SIDE**2 * sum(map(len, self.dictionaries[1:]))

    @property
    def n_pooled(self) -> int:
        """Of these, pooled codes of the first layer, which come first."""
        n_atoms, cells = len(self.dictionaries[0]), self.pyramid.n_cells
        if self.expand:
            length = 1  # of a row of `augmentation`
            for atoms in reversed(self.dictionaries[1:]):
                length = 1 + len(atoms) * length
            return cells * n_atoms * (length + bool(self.min_channel))
        return cells * n_atoms * (2 if self.weights[1].size else 1)

    def encode(self, values: np.ndarray) -> Codes:
        """First-layer codes of descriptors, their values raised to `power`.

        That is as good as raising what is pooled of them, because the power keeps their order and sign.
        """
        codes = self.coders[0].encode(values, self.codebook)
        if self.power == 1:
            return codes
        return codes._replace(values=np.sign(codes.values) * np.abs(codes.values) ** np.float32(self.power))

    def rows(self, images: Iterable[Descriptors]) -> csr_array:
        """Features of images, one sparse row of unit length each; few images are held at a time."""
        parts = map(self._rows, _some_at_a_time(images))
        return MemoryRows(next(parts)).add(parts).load()

    def _rows(self, images: list[Descriptors]) -> csr_array:
        codes = self.encode(np.concatenate([image.values for image in images]))
        found, start, positions = [], 0, None
        for image in images:
            own = slice(start, start := start + len(image.values))
            if image.positions is not positions:  # images of one shape share them
                positions, cells = image.positions, self.pyramid.cells(image.positions, image.shape)
            row = self._row(Codes(codes.indices[own], codes.values[own]), cells)
            found.append(self._deepened(*row, self.deep_means(image).ravel()) if self.deep else row)
        return self._csr(found, self.n_features)

    @staticmethod
    def _csr(rows: list[tuple[np.ndarray, np.ndarray]], n_columns: int) -> csr_array:
        """Rows given by their columns and values."""
        indptr = np.cumsum([0] + [len(columns) for columns, _ in rows], dtype=np.int32)
        columns, data = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return csr_array((data, columns, indptr), shape=(len(rows), n_columns))

    def _row(self, codes: Codes, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of one image's feature."""
        n_atoms = len(self.dictionaries[0])
        if self.expand:
            row = self._expanded(*self.pyramid.pool_cells(codes, cells, n_atoms))
            columns = np.flatnonzero(row).astype(np.int32)
            return columns, row[columns]
        used = self._all_atoms
        if codes.indices.size < _MANY_CODES * n_atoms:  # else few atoms are left out; no answer depends on it
            used, places = pooling.used_atoms(codes.indices, n_atoms)
            codes = Codes(places, codes.values)
        maximum, minimum = self.pyramid.pool_cells(codes, cells, len(used))
        columns, data = np.empty(2 * maximum.size, np.int32), np.empty(2 * maximum.size, np.float32)
        n = pooling.weighted_row(maximum, minimum, used, *self.weights, columns, data)
        return columns[:n].copy(), data[:n].copy()

    def deep_patches(self, image: Descriptors) -> tuple[np.ndarray, np.ndarray]:
        """The patches that the deep channel is made of, by number, and the cell of each."""
        smallest = np.flatnonzero(image.sizes == image.sizes.min())
        return smallest, SpatialPyramid((DEEP_SIDE,)).cells(image.positions[smallest], image.shape)[:, 0]

    def deep_codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of descriptors over all deeper atoms, raised to `power`."""
        return pooling.linear_codes(values, self.deep_coder, np.float32(self.power))

    def deep_means(self, image: Descriptors) -> np.ndarray:
        """Means of these codes over the cells of a grid: (n_cells, n_deep)."""
        patches, cells = self.deep_patches(image)
        return pooling.cell_means(self.deep_codes(image.values[patches]), cells, DEEP_SIDE**2)

    def glance(self, images: Iterable[Descriptors]) -> csr_array:
        """The deep channel of images alone, one sparse row of unit length each."""
        found, positions, n_atoms = [], None, self.deep_coder.shape[1]
        for image in images:
            if image.positions is not positions:  # images of one shape share them
                positions, (patches, cells) = image.positions, self.deep_patches(image)
                used, places = np.unique(cells, return_inverse=True)
                columns = (used[:, None] * n_atoms + np.arange(n_atoms)).ravel().astype(np.int32)
            means = pooling.cell_means(self.deep_codes(image.values[patches]), places, len(used)).ravel()
            length = max(float(np.linalg.norm(means.astype(np.float64))), 1e-30)
            found.append((columns, means / np.float32(length)))
        return self._csr(found, self.n_deep)

    def _deepened(
        self, columns: np.ndarray, data: np.ndarray, means: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A row of pooled codes with the deep channel after them, of unit length."""
        places = np.flatnonzero(means).astype(np.int32)
        scale = self.deep / max(float(np.linalg.norm(means.astype(np.float64))), 1e-30)
        data = np.concatenate([data, means[places] * np.float32(scale)])
        length = max(float(np.linalg.norm(data.astype(np.float64))), 1e-30)
        return np.concatenate([columns, self.n_pooled + places]), data / np.float32(length)

    def fold(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of pooled maxima and minima, each (n_cells, n_atoms), that a linear weight amounts to.

        Before normalisation, feature · coef = Σ max_coef · maximum + Σ min_coef · minimum.
        """
        cells, n_atoms = self.pyramid.n_cells, len(self.dictionaries[0])
        coef = coef[: self.n_pooled].astype(np.float64).reshape(cells, -1)
        if not self.expand:
            max_weights, min_weights = self.weights
            minima = coef[:, n_atoms:] * min_weights if min_weights.size else np.zeros((cells, n_atoms))
            return coef[:, :n_atoms] * max_weights, minima
        factors = self.augmentation
        products = coef[:, : factors.size].reshape(cells, *factors.shape) * factors
        minima = np.where(factors < 0, products, 0).sum(axis=2)
        if self.min_channel:
            minima += coef[:, factors.size :]
        return np.where(factors >= 0, products, 0).sum(axis=2), minima

    def _expanded(self, maximum: np.ndarray, minimum: np.ndarray) -> np.ndarray:
        factors = self.augmentation
        literal = np.where(factors >= 0, factors * maximum[:, :, None], factors * minimum[:, :, None])
        row = literal.reshape(len(maximum), -1)
        if self.min_channel:
            row = np.hstack([row, minimum])
        return row.ravel() / max(float(np.linalg.norm(row)), 1e-30)


def _some_at_a_time(images: Iterable[Descriptors]) -> Iterator[list[Descriptors]]:
    """Images with enough descriptors for a block."""
    waiting: list[Descriptors] = []
    for image in images:
        waiting.append(image)
        if sum(len(each.values) for each in waiting) >= _DESCRIPTORS_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
