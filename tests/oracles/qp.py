"""min ½aᵀHa − cᵀa + Σ wⱼ|aⱼ|  subject to  1ᵀa = total  and  ‖a‖₁ ≤ radius, either of which may be left out.

Solved by Clarabel, an interior-point method that shares nothing with our kernels, on a = a⁺ − a⁻, a⁺, a⁻ ≥ 0.
"""

import clarabel
import numpy as np
from scipy.sparse import csc_matrix


def minimise(H, c, weights=0.0, total=None, radius=None):
    q, fold = len(c), np.kron([[1.0], [-1.0]], np.eye(len(c)))  # a = foldᵀ(a⁺, a⁻)
    equal = fold.sum(1)[None] if total is not None else np.empty((0, 2 * q))
    ball = np.ones((1, 2 * q)) if radius is not None else np.empty((0, 2 * q))
    rows = np.vstack([equal, -np.eye(2 * q), ball])
    bounds = np.r_[[total] * len(equal), np.zeros(2 * q), [radius] * len(ball)].astype(float)
    cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(rows) - len(equal))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    P, linear = csc_matrix(np.triu(fold @ H @ fold.T)), np.tile(weights + np.zeros(q), 2) - fold @ c
    solution = clarabel.DefaultSolver(P, linear, csc_matrix(rows), bounds, cones, settings).solve()
    assert solution.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return fold.T @ solution.x
