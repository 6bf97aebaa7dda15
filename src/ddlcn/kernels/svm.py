"""Dual coordinate descent for squared-hinge SVMs on sparse rows, several classes at a time.

Weights of all classes lie side by side, so that each entry of a row is read once and its product with
all classes runs on vector units.
"""

from ddlcn.kernels.compiled import kernel


@kernel
def dual_pass(indptr, indices, data, targets, order, squares, ridge, alphas, weights, slopes, active, limit):
    """One pass over the rows in `order` whose `active` flag is set.

    targets (n, k) are ±1; weights (d + 1, k), the last row is the bias; ridge = 1 / 2C. Rows whose dual
    variables all rest at zero with slopes above `limit` become inactive. Returns the largest violation.
    """
    k = targets.shape[1]
    bias = weights.shape[0] - 1
    worst = 0.0
    for position in range(order.size):
        i = order[position]
        if not active[i]:
            continue
        for c in range(k):
            slopes[c] = weights[bias, c]
        for e in range(indptr[i], indptr[i + 1]):
            value, column = data[e], indices[e]
            for c in range(k):
                slopes[c] += value * weights[column, c]
        moved, resting = False, True
        for c in range(k):
            alpha = alphas[i, c]
            slope = targets[i, c] * slopes[c] - 1 + ridge * alpha
            violation = slope if alpha > 0 else min(slope, 0.0)
            resting = resting and alpha == 0 and slope > limit
            slopes[c] = 0.0
            if violation != 0:
                worst = max(worst, abs(violation))
                new = max(alpha - slope / (squares[i] + ridge), 0.0)
                slopes[c] = (new - alpha) * targets[i, c]
                alphas[i, c] = new
                moved = True
        if resting:
            active[i] = False
        if moved:
            for e in range(indptr[i], indptr[i + 1]):
                value, column = data[e], indices[e]
                for c in range(k):
                    weights[column, c] += value * slopes[c]
            for c in range(k):
                weights[bias, c] += slopes[c]
    return worst


@kernel
def scores(indptr, indices, data, weights, out):
    """out = X·weights + bias, for the rows of X."""
    k = weights.shape[1]
    bias = weights.shape[0] - 1
    for i in range(out.shape[0]):
        for c in range(k):
            out[i, c] = weights[bias, c]
        for e in range(indptr[i], indptr[i + 1]):
            value, column = data[e], indices[e]
            for c in range(k):
                out[i, c] += value * weights[column, c]
