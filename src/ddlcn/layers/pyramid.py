"""Pooling layer: spatial pyramid matching with max-pooling over 1 × 1, 2 × 2 and 4 × 4 cells.

In a cell, atom j is pooled to max_i γ_i(j) over the descriptors i whose patch centre lies there, with
absent codes counting as zero. The minimum is kept beside it: depth needs it (see `network`).
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError
from ddlcn.kernels import pooling
from ddlcn.layers.coding import Codes


class SpatialPyramid(BaseEstimator):
    """Cells of an image, level by level, row by row.

    >>> import numpy as np
    >>> SpatialPyramid(levels=(1, 2)).cells(np.array([[0.0, 0.0], [9.0, 9.0]]), shape=(10, 10))
    array([[0, 1],
           [0, 4]])
    """

    def __init__(self, levels: tuple[int, ...] = (1, 2, 4)) -> None:
        self.levels = levels

    @property
    def n_cells(self) -> int:
        """Cells over all levels."""
        if len(self.levels) < 1 or min(self.levels) < 1:
            raise DDLCNError(f"levels={self.levels}: give at least one level, each of 1 cell or more a side")
        return sum(level * level for level in self.levels)

    def cells(self, positions: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """The cell of each position at each level: (n, n_levels).

        The authors' rule: with pixels counted from 1, cell = ceil(centre / cell size).
        """
        return pooling.cells(np.asarray(positions, dtype=np.float64), shape, np.array(self.levels))

    def pool(
        self, codes: Codes, positions: np.ndarray, shape: tuple[int, int], n_atoms: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Signed maximum and minimum of each atom's codes in each cell: two (n_cells, n_atoms) arrays."""
        return self.pool_cells(codes, self.cells(positions, shape), n_atoms)

    def pool_cells(self, codes: Codes, cells: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
        """The same for cells given by `cells`, which images of one shape share."""
        maximum = np.empty((self.n_cells, n_atoms), np.float32)
        minimum = np.empty_like(maximum)
        pooling.pool(codes.indices, codes.values, cells, maximum, minimum)
        return maximum, minimum
