"""min_a ½‖y − Dᵀa‖²  subject to  ‖a‖₁ ≤ r  (Eq. 2; a row of D is an atom)."""

import numpy as np

from .qp import minimise


def codes(Y, D, radius):
    """By the independent solver, one sample at a time."""
    return np.array([minimise(D @ D.T, D @ y, radius=radius) for y in np.asarray(Y, float)])


def objective(Y, D, A):
    """½‖y − Dᵀa‖² for each sample."""
    return 0.5 * ((np.asarray(Y, float) - np.asarray(A, float) @ D) ** 2).sum(1)


def gap(Y, D, A, radius):
    """r‖c‖∞ − cᵀa with c = D(y − Dᵀa): zero where a is optimal, else a bound on how far from it.

    With a in the ball this is the whole of KKT: −c is the gradient, and max {cᵀb : ‖b‖₁ ≤ r} = r‖c‖∞.
    """
    A = np.asarray(A, float)
    c = (np.asarray(Y, float) - A @ D) @ D.T
    return radius * np.abs(c).max(1) - (c * A).sum(1)
