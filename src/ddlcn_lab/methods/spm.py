"""Spatial pyramid matching: histograms of visual words per cell, compared by their intersection.

    K(h, g) = Σ_l ω_l Σ_{cell of level l} Σ_j min(h_cell,j, g_cell,j),   ω = 1/2^L for level 0, 1/2^(L−l+1) for others

h_cell,j is the share of an image's descriptors that lie in the cell and are nearest to word j. Levels 0 to L have 1, 4,
16 … cells; the weights make K(h, h) = 1. One SVM per class against the rest on K. Lazebnik, Schmid, Ponce: Beyond bags
of features, CVPR 2006; with 200 words and L = 2 it is the baseline of Griffin, Holub, Perona: Caltech-256 object
category dataset, 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from ddlcn.layers.coding import Codes
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn_lab.kernels.intersection import intersections
from ddlcn_lab.methods.codebook import CodebookFeatures
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.scoring import ScoringClassifier
from ddlcn_lab.methods.shared import cell_sums

_ROWS_AT_ONCE = 64  # of a kernel matrix, per task


class HistogramPyramid(SpatialPyramid):
    """Cells that hold sums of codes, times the weight of their level."""

    def pool_cells(self, codes: Codes, cells: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of each atom's codes in each cell, as a share of all, weighted; the minimum is zero."""
        last = len(self.levels) - 1
        weights = [2.0**-last if level == 0 else 2.0 ** (level - last - 1) for level in range(last + 1)]
        sums = cell_sums(codes, cells, self.n_cells, n_atoms, np.array(weights) / len(cells))
        return sums.astype(np.float32), np.zeros(sums.shape, np.float32)


class PyramidHistograms(CodebookFeatures):
    """Images to dense rows that sum to one: weighted histograms, for `IntersectionSVM`."""

    def transform(self, images: Any) -> Any:
        """Histograms of images, one dense row per image."""
        rows = super().transform(images)
        check_memory(12 * rows.shape[0] * rows.shape[1], f"histograms of {len(images)} images", "set n_atoms lower")
        return normalize(rows, "l1").toarray()


class IntersectionSVM(ScoringClassifier):
    """One-vs-rest SVMs (LIBSVM) with the histogram-intersection kernel Σ_j min(x_j, y_j).

    Parameters
    ----------
    C : float
        Cost of errors.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Attributes
    ----------
    rows_ : ndarray
        Training rows.
    duals_, intercepts_ : ndarrays
        A column for each class; scores are K(x, rows) · duals + intercepts.
    """

    def __init__(self, C: float = 10.0, n_jobs: int | None = None) -> None:
        self.C = C
        self.n_jobs = n_jobs

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        check_memory(16 * len(X) ** 2, f"a kernel matrix of {len(X)} rows", "give fewer images")
        self.rows_ = X.astype(np.float32)
        K = self._kernel(X)
        columns, intercepts = [], []
        for c in range(len(self.classes_)):
            svm = SVC(C=self.C, kernel="precomputed", random_state=0).fit(K, targets == c)
            column = np.zeros(len(X))
            column[svm.support_] = svm.dual_coef_[0]
            columns.append(column)
            intercepts.append(svm.intercept_[0])
        self.duals_, self.intercepts_ = np.stack(columns, axis=1), np.array(intercepts)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return self._kernel(X) @ self.duals_ + self.intercepts_

    def _kernel(self, X: np.ndarray) -> np.ndarray:
        """K of rows with the training rows."""
        X = X.astype(np.float32)
        tasks = (
            delayed(intersections)(X[start : start + _ROWS_AT_ONCE], self.rows_)
            for start in range(0, len(X), _ROWS_AT_ONCE)
        )
        return np.concatenate(Parallel(self.n_jobs, prefer="threads")(tasks))
