"""min_{w,b} P = ½‖w‖² + ½b² + Σ Cᵢ max(0, 1 − yᵢ(wᵀxᵢ + b))²,  yᵢ = ±1: as LIBLINEAR's, with a cost for each sample.

Its dual: max_{α ≥ 0} D = Σ αᵢ − ½‖Σ αᵢyᵢ(xᵢ, 1)‖² − Σ αᵢ²/(4Cᵢ); optimal αᵢ = 2Cᵢ max(0, 1 − yᵢ(wᵀxᵢ + b)).
"""

import numpy as np
from scipy.optimize import minimize


def primal(X, y, w, b, C):
    return 0.5 * (w @ w + b * b) + (C * np.maximum(0, 1 - y * (X @ w + b)) ** 2).sum()


def dual(X, y, alpha, C):
    w, b = X.T @ (alpha * y), alpha @ y
    return alpha.sum() - 0.5 * (w @ w + b * b) - (alpha**2 / (4 * C)).sum()


def minimizer(X, y, C):
    """w and b by a quasi-Newton method on P, which is smooth."""

    def value_and_gradient(v):
        slack = np.maximum(0, 1 - y * (X @ v[:-1] + v[-1]))
        pull = -2 * C * slack * y
        return 0.5 * v @ v + (C * slack**2).sum(), v + np.append(X.T @ pull, pull.sum())

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(value_and_gradient, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).x
    return found[:-1], found[-1]
