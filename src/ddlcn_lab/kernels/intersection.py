"""Σ_j min(x_j, y_j) for all pairs of rows."""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def intersections(X, Y):
    """Return an array (len(X), len(Y)) of sums of minima of rows."""
    out = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        for k in range(len(Y)):
            total = np.float32(0)
            for j in range(X.shape[1]):
                total += min(X[i, j], Y[k, j])
            out[i, k] = total
    return out
