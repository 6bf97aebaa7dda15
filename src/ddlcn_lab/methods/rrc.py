"""Regularised robust coding: a lasso with small weights on pixels of large residual.

    min over x of  Σ_i ρ(e_i) + λ‖x‖₁,   e = y − xD,   with weights  ω(e) = ρ'(e)/e = 1 / (1 + exp(μ(e² − δ)))

alternating: given weights, a weighted lasso; given residuals, weights. δ is the τ-quantile of e² and μ = 8/δ, so
that all but a share 1 − τ of the pixels count. The first residual is against the mean face. The class with
the least weighted residual wins. The lasso works on the 300 leading eigenfaces P of weighted images,

    min over x of  ½‖P(√ω ⊙ (y − xD))‖² + λ‖x‖₁.

Yang, Zhang, Yang, Zhang: Regularized robust coding for face recognition, TIP 2013.
"""

from __future__ import annotations

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.fddl import principal
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.scoring import ScoringClassifier, residuals


class RobustCoding(ScoringClassifier):
    """RRC with L1 regularisation.

    Parameters
    ----------
    penalty : float
        λ.
    trusted : float
        τ, the share of pixels whose weight is above one half.
    passes : int
        Alternations of coding and weighting, which end early once weights change by less than 5 %.
    n_eigenfaces : int
        Rows of P.
    """

    def __init__(
        self,
        penalty: float = 0.0001,
        trusted: float = 0.8,
        passes: int = 4,
        n_eigenfaces: int = 300,
    ) -> None:
        self.penalty = penalty
        self.trusted = trusted
        self.passes = passes
        self.n_eigenfaces = n_eigenfaces

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        if not 0 < self.trusted <= 1 or self.passes < 1:
            raise DDLCNError(
                f"trusted={self.trusted}, passes={self.passes}: give a share above 0, at most 1, and at least 1"
            )
        check_memory(12 * len(X) ** 2, f"products of {len(X)} training images", "give fewer")
        # single precision halves the slowest step, a product of all atoms per image and iteration
        self.atoms_, self.atom_classes_ = unit_rows(X).astype(np.float32), targets
        self.mean_ = self.atoms_.mean(axis=0)
        self.eigenfaces_ = principal(self.atoms_ - self.mean_, self.n_eigenfaces)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return np.stack([self._score(y) for y in unit_rows(X).astype(np.float32)])

    def _score(self, y: np.ndarray) -> np.ndarray:
        weights = self.weights(y - self.mean_)
        for _ in range(self.passes):
            x, used = self.code(y, weights), weights
            weights = self.weights(y - x @ self.atoms_)
            if np.linalg.norm(weights - used) < 0.05 * np.linalg.norm(used):
                break
        root = np.sqrt(used)
        return -residuals((root * y)[None], x[None], root * self.atoms_, self.atom_classes_)[0]

    def weights(self, e: np.ndarray) -> np.ndarray:
        """ω of residuals e."""
        square = e * e
        delta = max(float(np.quantile(square, self.trusted)), 1e-30)
        return 1 / (1 + np.exp(np.minimum(8 / delta * (square - delta), 80)))

    def code(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """argmin_x ½‖P(√ω ⊙ (y − xD))‖² + λ‖x‖₁."""
        P = np.sqrt(weights) * self.eigenfaces_
        D = self.atoms_ @ P.T
        products = np.atleast_2d(D @ (P @ y)).astype(np.float64)
        x = lasso_codes((D @ D.T).astype(np.float64), products, self.penalty, D.shape[1] + 1)
        return x[0].astype(np.float32)
