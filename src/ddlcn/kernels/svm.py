"""Dual coordinate descent for squared-hinge SVMs, on a Gram matrix or on sparse rows.

A dual variable α_i ≥ 0 has the slope t_i f_i − 1 + α_i / 2C; a step sets it to where the slope is zero, or to
zero. A pass returns the worst slope that it found at a variable free to move. ridge = 1 / 2C throughout.

Sparse rows are given as the three arrays of a CSR matrix that begins with row number `first`; rows in other
arrays are counted from zero. Weights have one line more than X has columns, the bias. `classes` are the
classes solved for, in the order of the lines or columns of the other arrays: t_i is 1 where codes[i] is the
class, else −1.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel, part


@kernel
def sparse_gram(indptr, indices, data, start, stop, heavy, out):
    """Add to the upper triangle of `out` the products of rows over the columns from `start` to `stop`.

    Heavy ones are left out. For a row and each of its columns, go on through the later rows that have it.
    """
    n_rows = indptr.size - 1
    ends = np.empty((n_rows, 2), np.int64)  # of the part of each row that lies in these columns
    heads = np.zeros(stop - start + 1, np.int64)
    for i in range(n_rows):
        row = indices[indptr[i] : indptr[i + 1]]
        ends[i, 0] = indptr[i] + np.searchsorted(row, start)
        ends[i, 1] = indptr[i] + np.searchsorted(row, stop)
        for e in range(ends[i, 0], ends[i, 1]):
            heads[indices[e] - start + 1] += not heavy[indices[e]]
    heads = np.cumsum(heads)
    rows, values, place = np.empty(heads[-1], np.int32), np.empty(heads[-1], data.dtype), heads[:-1].copy()
    for i in range(n_rows):
        for e in range(ends[i, 0], ends[i, 1]):
            column = indices[e] - start
            if not heavy[indices[e]]:
                rows[place[column]], values[place[column]] = i, data[e]
                place[column] += 1
    place[:] = heads[:-1]
    for i in range(n_rows):
        line = out[i]
        for e in range(ends[i, 0], ends[i, 1]):
            column, value = indices[e] - start, data[e]
            for m in range(place[column], heads[column + 1]):
                line[rows[m]] += value * values[m]
            place[column] += 1


@kernel
def gram_pass(gram, targets, order, ridge, alphas, scores):
    """One pass over the rows in `order`, for one class: a step changes the scores of all rows."""
    worst = 0.0
    for i in order:
        alpha = alphas[i]
        slope = targets[i] * scores[i] - 1 + ridge * alpha
        if alpha > 0 or slope < 0:
            worst = max(worst, abs(slope))
            alphas[i] = max(alpha - slope / (gram[i, i] + ridge), 0.0)
            change = (alphas[i] - alpha) * targets[i]
            for j in range(scores.size):
                scores[j] += change * gram[i, j]
    return worst


@kernel
def sparse_pass(first, indptr, indices, data, targets, order, squares, ridge, alphas, weights):
    """One pass over the rows in `order`, for one class: a step changes its weights."""
    bias, worst = weights.size - 1, 0.0
    for i in order:
        score = weights[bias]
        for e in range(indptr[i - first], indptr[i - first + 1]):
            score += data[e] * weights[indices[e]]
        alpha = alphas[i]
        slope = targets[i] * score - 1 + ridge * alpha
        if alpha > 0 or slope < 0:
            worst = max(worst, abs(slope))
            alphas[i] = max(alpha - slope / (squares[i] + ridge), 0.0)
            change = weights.dtype.type((alphas[i] - alpha) * targets[i])
            for e in range(indptr[i - first], indptr[i - first + 1]):
                weights[indices[e]] += change * data[e]
            weights[bias] += change
    return worst


@kernel
def sparse_sweep(first, indptr, indices, data, codes, classes, order, squares, ridge, alphas, weights):
    """One pass for several classes; alphas (k, n), weights (d + 1, k).

    Weights of all classes lie side by side, so that an entry of a row is fetched once for all of them.
    """
    k, bias = classes.size, weights.shape[0] - 1
    change = np.empty(k, weights.dtype)
    for i in order:
        change[:] = weights[bias]
        for e in range(indptr[i - first], indptr[i - first + 1]):
            value, line = data[e], weights[indices[e]]
            for c in range(k):
                change[c] += value * line[c]
        moved = False
        for c in range(k):
            alpha, target = alphas[c, i], 1.0 if codes[i] == classes[c] else -1.0
            slope = target * change[c] - 1 + ridge * alpha
            change[c] = 0
            if alpha > 0 or slope < 0:
                alphas[c, i] = max(alpha - slope / (squares[i] + ridge), 0.0)
                change[c] = (alphas[c, i] - alpha) * target
                moved = True
        if moved:
            _add(first, indptr, indices, data, i, change, weights)


@kernel
def combine(first, indptr, indices, data, codes, classes, rows, alphas, weights):
    """Add t_i α_i x_i over some rows to the weights of several classes."""
    k = classes.size
    dual = np.empty(k)
    for i in rows:
        for c in range(k):
            dual[c] = alphas[c, i] if codes[i] == classes[c] else -alphas[c, i]
        _add(first, indptr, indices, data, i, dual, weights)


@part
def _add(first, indptr, indices, data, i, factors, weights):
    for e in range(indptr[i - first], indptr[i - first + 1]):
        value, line = data[e], weights[indices[e]]
        for c in range(factors.size):
            line[c] += value * factors[c]
    weights[weights.shape[0] - 1] += factors


@kernel
def look(first, indptr, indices, data, codes, classes, rows, weights, alphas, active, margins, losses):
    """Score some rows by several classes: which variables may move (`active`); hinge losses are added up.

    The margin of a row is the least slope of its variables if all are at rest, else −∞.
    """
    k, bias = classes.size, weights.shape[0] - 1
    scores = np.empty(k)
    for i in rows:
        scores[:] = weights[bias]
        for e in range(indptr[i - first], indptr[i - first + 1]):
            value, line = data[e], weights[indices[e]]
            for c in range(k):
                scores[c] += value * line[c]
        margins[i] = np.inf
        for c in range(k):
            slope = (scores[c] if codes[i] == classes[c] else -scores[c]) - 1
            losses[c] += min(slope, 0.0) ** 2
            active[c, i] = alphas[c, i] > 0 or slope < 0
            margins[i] = -np.inf if active[c, i] else min(margins[i], slope)


@kernel
def squared_lengths(indptr, data):
    """‖x_i‖² for the rows of X."""
    squares = np.zeros(indptr.size - 1)
    for i in range(squares.size):
        for e in range(indptr[i], indptr[i + 1]):
            squares[i] += data[e] ** 2
    return squares


@kernel
def dense_columns(indptr, indices, data, start, places, block):
    """Fill a dense block with columns of X from `start`, each at its place, those at −1 left out.

    Indices within a row ascend.
    """
    for i in range(block.shape[0]):
        own = indices[indptr[i] : indptr[i + 1]]
        first, stop = np.searchsorted(own, start), np.searchsorted(own, start + places.size)
        for e in range(first, stop):
            if places[own[e] - start] >= 0:
                block[i, places[own[e] - start]] = data[indptr[i] + e]
