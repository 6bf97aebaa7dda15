"""min_γ ½‖y − Vᵀγ‖² + β Σ ζⱼ|γⱼ|,  ζⱼ = ‖y − vⱼ‖,  subject to  1ᵀγ = 1  over the k nearest atoms (Eq. 5)."""

import numpy as np

from .qp import minimise


def nearest(y, atoms, k):
    """Indices of the k nearest atoms, nearest first, ties by index."""
    return np.argsort(((atoms - y) ** 2).sum(1), kind="stable")[:k]


def objective(y, V, gamma, beta):
    return 0.5 * ((y - gamma @ V) ** 2).sum() + beta * np.linalg.norm(V - y, axis=1) @ np.abs(gamma)


def code(y, V, beta):
    """By the independent solver; if β = 0, least squares on the affine span of V, the k nearest atoms."""
    if beta == 0:
        t = np.linalg.lstsq((V[1:] - V[0]).T, y - V[0], rcond=None)[0]
        return np.r_[1 - t.sum(), t]
    return minimise(V @ V.T, V @ y, weights=beta * np.linalg.norm(V - y, axis=1), total=1.0)


def kkt_residual(y, V, gamma, beta):
    """How far the conditions are from sharing one multiplier μ of 1ᵀγ = 1.

    With g the gradient of the quadratic, μ = gⱼ + βζⱼ sign γⱼ where γⱼ ≠ 0, and |gⱼ − μ| ≤ βζⱼ elsewhere:
    each atom gives an interval, and they meet just where γ is optimal.
    """
    g, penalty = V @ (gamma @ V - y), beta * np.linalg.norm(V - y, axis=1)
    low = np.where(gamma > 0, g + penalty, g - penalty)
    high = np.where(gamma < 0, g - penalty, g + penalty)
    return max(0.0, (low.max() - high.min()) / 2)


def llc(y, V, epsilon):
    """(C + ε tr(C) I)γ ∝ 1, 1ᵀγ = 1, with C = ZZᵀ, zⱼ = vⱼ − y."""
    C = (V - y) @ (V - y).T
    gamma = np.linalg.solve(C + epsilon * np.trace(C) * np.eye(len(V)), np.ones(len(V)))
    return gamma / gamma.sum()


def dense(indices, values, n_atoms):
    """Codes by k indices and k values a row, spread over all atoms."""
    full = np.zeros((len(indices), n_atoms))
    np.put_along_axis(full, np.asarray(indices, np.int64), np.asarray(values, float), axis=1)
    return full
