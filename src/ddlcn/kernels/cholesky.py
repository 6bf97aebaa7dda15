"""A Cholesky factor L of a small matrix that grows and shrinks by rows, kept with U = Lᵀ and 1 / diag(L).

Substitutions run over whole rows of L or U, so that each unknown waits for one multiplication only.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def append(m, diagonal, least, L, U, inverse):
    """Factor row m, whose entries left of the diagonal lie in L[m, :m]; the pivot is at least `least`."""
    row = L[m]
    for i in range(m):
        row[i] *= inverse[i]
        U[i, m] = row[i]
        diagonal -= row[i] * row[i]
        for j in range(i + 1, m):
            row[j] -= row[i] * U[i, j]
    inverse[m] = 1 / np.sqrt(max(diagonal, least))


@kernel
def forward(m, value, L, inverse, solved):
    """Entry m of L⁻¹b, for b_m = value and the entries before it in `solved`."""
    for i in range(m):
        value -= L[m, i] * solved[i]
    solved[m] = value * inverse[m]


@kernel
def backward(m, L, inverse, x):
    """x ← L⁻ᵀx for the first m entries."""
    for i in range(m - 1, -1, -1):
        x[i] *= inverse[i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]
