"""Pooling layer: spatial pyramid matching with max-pooling over 1 × 1, 2 × 2 and 4 × 4 cells.

In a cell, atom j is pooled to max_i γ_i(j) over the descriptors i whose patch centre lies there, with
absent codes counting as zero. The minimum is kept beside it, because depth needs it.

**The collapse.** In Algorithm 1 the code γ(v_j) of a descriptor at atom j is augmented to γ(v_j)·[1, c_j], where
c_j lists the layer-2 code g_j of atom j, each entry followed by its own augmentation from layer 3, and so on. c_j
depends on j alone. With M_j = max_i γ_i(j) and m_j = min_i γ_i(j) over a cell, max-pooling a constant times a
code is `max_i γ_i(j)·a = a·M_j` for a ≥ 0 and `a·m_j` for a < 0. So the inner product of two pooled, augmented
features, Σ_j Σ_{a in [1, c_j]}, is that of the short features

    [ M_j·‖[1, c_j]⁺‖,  m_j·‖[1, c_j]⁻‖ ]

and so is their length. A linear SVM sees no difference: depth reweights atoms and adds a min-pooled part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ddlcn.blas import one_blas_thread
from ddlcn.kernels import pooling
from ddlcn.layers.coding import Codes
from ddlcn.layers.part import Part
from ddlcn.rules import FLAG, list_of, whole


class SpatialPyramid(Part):
    """Max-pooling over the cells of an image, level by level, row by row.

    Parameters
    ----------
    levels : tuple of int
        Cells per side at each level.
    minima : bool
        Pool plain minima beside the maxima, whatever the depth.

    Examples
    --------
    >>> import numpy as np
    >>> SpatialPyramid(levels=(1, 2)).cells(np.array([[0.0, 0.0], [9.0, 9.0]]), shape=(10, 10))
    array([[0, 1],
           [0, 4]])
    """

    role = "pooling"
    rules: ClassVar = {"levels": list_of(whole(1, 1 << 10), 1, 64), "minima": FLAG}

    def __init__(self, levels: tuple[int, ...] = (1, 2, 4), minima: bool = False) -> None:
        self.levels = levels
        self.minima = minima

    @property
    def n_cells(self) -> int:
        """Cells over all levels."""
        self.check()
        return sum(level * level for level in self.levels)

    def cells(self, positions: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """Return the cell of each position at each level.

        The authors' rule: with pixels counted from 1, cell = ceil(centre / cell size).

        Parameters
        ----------
        positions : array of shape (n, 2)
            Row and column of patch centres.
        shape : (int, int)
            Height and width of the image.

        Returns
        -------
        array of shape (n, n_levels)
            Numbers over all levels, from 0.
        """
        return pooling.cells(np.asarray(positions, dtype=np.float64), shape, np.array(self.levels))

    def pool(
        self, codes: Codes, positions: np.ndarray, shape: tuple[int, int], n_atoms: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pool the codes of an image.

        Parameters
        ----------
        codes : Codes
        positions : array of shape (n, 2)
            Row and column of patch centres.
        shape : (int, int)
            Height and width of the image.
        n_atoms : int

        Returns
        -------
        maximum, minimum : arrays of shape (n_cells, n_atoms)
            Signed; absent codes count as zero.
        """
        return self.pool_cells(codes, self.cells(positions, shape), n_atoms)

    def pool_cells(self, codes: Codes, cells: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
        """Pool the codes of an image whose cells are known.

        Parameters
        ----------
        codes : Codes
        cells : array of shape (n, n_levels)
            What `cells` returns; images of one shape share them.
        n_atoms : int

        Returns
        -------
        maximum, minimum : arrays of shape (n_cells, n_atoms)
        """
        maximum = np.empty((self.n_cells, n_atoms), np.float32)
        minimum = np.empty_like(maximum)
        pooling.pool(codes.indices, codes.values, cells, maximum, minimum)
        return maximum, minimum


class MeanGrid(Part):
    """Mean-pooling of the smallest patches over a grid of cells, which keeps the position that maxima lose.

    Parameters
    ----------
    side : int
        Cells per side.
    """

    role = "pooling"
    rules: ClassVar = {"side": whole(1, 1 << 10)}

    def __init__(self, side: int = 16) -> None:
        self.side = side

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        self.check()
        return self.side**2

    def patches(
        self, positions: np.ndarray, sizes: np.ndarray, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the smallest patches, and the cell of each.

        Parameters
        ----------
        positions : array of shape (n, 2)
        sizes : array of shape (n,)
        shape : (int, int)

        Returns
        -------
        patches, cells : arrays of int
        """
        smallest = np.flatnonzero(sizes == sizes.min())
        return smallest, SpatialPyramid((self.side,)).cells(positions[smallest], shape)[:, 0]


def collapsed_weights(tables: Sequence[np.ndarray], n_atoms: int, minima: bool) -> tuple[np.ndarray, np.ndarray]:
    """‖[1, c_j]⁺‖ and ‖[1, c_j]⁻‖ for each of the first layer's atoms; the second is empty if all are zero.

    Parameters
    ----------
    tables : sequence of arrays
        Dense codes of each layer's atoms over the next layer's: (s1, s2), (s2, s3), …
    n_atoms : int
        Atoms of the last layer.
    minima : bool
        Add the plain minimum of each atom.

    Returns
    -------
    positive, negative : arrays of float32
    """
    positive, negative = np.ones(n_atoms), np.zeros(n_atoms)
    with one_blas_thread():
        for table in reversed(tables):
            up, down = np.maximum(table, 0.0) ** 2, np.minimum(table, 0.0) ** 2
            positive, negative = 1 + up @ positive + down @ negative, up @ negative + down @ positive
    negative = negative + 1 if minima else negative
    if not negative.any():
        negative = np.empty(0)
    return np.sqrt(positive).astype(np.float32), np.sqrt(negative).astype(np.float32)
