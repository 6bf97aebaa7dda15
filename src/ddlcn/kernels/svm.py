"""Dual coordinate descent for squared-hinge SVMs, on a Gram matrix or on sparse rows.

A dual variable α_i ≥ 0 has the slope t_i f_i − 1 + α_i / 2C; a step sets it to where the slope is zero, or to
zero. A row whose variable rests at zero with a slope above `limit`, the worst violation of the pass before,
is made inactive. Each pass returns its own worst violation.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def gram_pass(gram, targets, order, ridge, alphas, scores, active, limit):
    """One pass over the rows in `order`, for one class; ridge = 1 / 2C."""
    worst = 0.0
    for i in order:
        alpha = alphas[i]
        slope = targets[i] * scores[i] - 1 + ridge * alpha
        if alpha == 0 and slope > limit:
            active[i] = False
        violation = slope if alpha > 0 else min(slope, 0.0)
        if violation != 0:
            worst = max(worst, abs(violation))
            alphas[i] = max(alpha - slope / (gram[i, i] + ridge), 0.0)
            change = (alphas[i] - alpha) * targets[i]
            for j in range(scores.size):
                scores[j] += change * gram[i, j]
    return worst


@kernel
def sparse_pass(indptr, indices, data, targets, order, squares, ridge, alphas, weights, active, limit):
    """One pass over the rows in `order`, for a few classes; weights (d + 1, k), the last row is the bias.

    Weights of all classes lie side by side, so that each entry of a row is read once and its products with
    all classes run on vector units. A row becomes inactive when all its variables are at rest.
    """
    k, bias = targets.shape[1], weights.shape[0] - 1
    change = np.empty(k)
    worst = 0.0
    for i in order:
        change[:] = weights[bias]
        for e in range(indptr[i], indptr[i + 1]):
            for c in range(k):
                change[c] += data[e] * weights[indices[e], c]
        moved, resting = False, True
        for c in range(k):
            alpha = alphas[i, c]
            slope = targets[i, c] * change[c] - 1 + ridge * alpha
            violation = slope if alpha > 0 else min(slope, 0.0)
            resting = resting and alpha == 0 and slope > limit
            change[c] = 0.0
            if violation != 0:
                worst = max(worst, abs(violation))
                alphas[i, c] = max(alpha - slope / (squares[i] + ridge), 0.0)
                change[c] = (alphas[i, c] - alpha) * targets[i, c]
                moved = True
        if resting:
            active[i] = False
        if moved:
            for e in range(indptr[i], indptr[i + 1]):
                for c in range(k):
                    weights[indices[e], c] += data[e] * change[c]
            for c in range(k):
                weights[bias, c] += change[c]
    return worst


@kernel
def scores(indptr, indices, data, weights):
    """X·weights + bias, for the rows of X."""
    k, bias = weights.shape[1], weights.shape[0] - 1
    out = np.empty((indptr.size - 1, k))
    for i in range(out.shape[0]):
        out[i] = weights[bias]
        for e in range(indptr[i], indptr[i + 1]):
            for c in range(k):
                out[i, c] += data[e] * weights[indices[e], c]
    return out


@kernel
def dense_columns(indptr, indices, data, start, block):
    """Fill a dense block with the columns of X from `start`; indices within a row ascend."""
    for i in range(block.shape[0]):
        own = indices[indptr[i] : indptr[i + 1]]
        first, stop = np.searchsorted(own, start), np.searchsorted(own, start + block.shape[1])
        for e in range(first, stop):
            block[i, own[e] - start] = data[indptr[i] + e]
