"""min_a ½‖y − Dᵀa‖² + λ Σ w_j|a_j| (the authors' coder; a row of D is an atom)."""

import numpy as np


def gap(y, D, a, weights, penalty):
    """How far KKT is from holding: c_j = λ w_j sign(a_j) where a_j ≠ 0, |c_j| ≤ λ w_j elsewhere."""
    c, bound = D @ (y - a @ D), penalty * weights
    return np.where(a != 0, np.abs(c - bound * np.sign(a)), np.maximum(np.abs(c) - bound, 0)).max()
