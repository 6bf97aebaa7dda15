"""A Cholesky factor L of a small matrix that grows and shrinks by rows, kept with 1 / diag(L)."""

import numpy as np

from ddlcn.kernels.compiled import part


@part
def append(m, diagonal, least, L, inverse):
    """Factor row m, whose entries left of the diagonal lie in L[m, :m]; the pivot is at least `least`."""
    for i in range(m):
        value = L[m, i]
        for j in range(i):
            value -= L[i, j] * L[m, j]
        value *= inverse[i]
        L[m, i] = value
        diagonal -= value * value
    inverse[m] = 1 / np.sqrt(max(diagonal, least))


@part
def forward(m, value, L, inverse, solved):
    """Entry m of L⁻¹b, for b_m = value and the entries before it in `solved`."""
    for i in range(m):
        value -= L[m, i] * solved[i]
    solved[m] = value * inverse[m]


@part
def backward(m, L, inverse, x):
    """x ← L⁻ᵀx for the first m entries."""
    for i in range(m - 1, -1, -1):
        x[i] *= inverse[i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]
