"""min_{w,b} P = ½‖w‖² + ½b² + C Σ max(0, 1 − yᵢ(wᵀxᵢ + b))²,  yᵢ = ±1: as LIBLINEAR's.

Its dual: max_{α ≥ 0} D = Σ αᵢ − ½‖Σ αᵢyᵢ(xᵢ, 1)‖² − Σ αᵢ²/(4C); optimal αᵢ = 2C max(0, 1 − yᵢ(wᵀxᵢ + b)).
"""

import numpy as np


def primal(X, y, w, b, C):
    return 0.5 * (w @ w + b * b) + C * (np.maximum(0, 1 - y * (X @ w + b)) ** 2).sum()


def dual(X, y, alpha, C):
    w, b = X.T @ (alpha * y), alpha @ y
    return alpha.sum() - 0.5 * (w @ w + b * b) - alpha @ alpha / (4 * C)


def relative_gap(X, y, w, b, C):
    """(P − D)/P with the α that (w, b) itself suggests: a certificate from the solution alone."""
    upper = primal(X, y, w, b, C)
    return (upper - dual(X, y, 2 * C * np.maximum(0, 1 - y * (X @ w + b)), C)) / upper
