"""Dual coordinate descent for squared-hinge SVMs, on a Gram matrix or on sparse rows.

A dual variable α_i ≥ 0 has the slope t_i f_i − 1 + α_i / 2C; a step sets it to where the slope is zero, or to
zero. A pass returns the worst slope that it found at a variable free to move. ridge = 1 / 2C throughout.

Sparse rows are given as the three arrays of a CSR matrix that begins with row number `first`; rows in other
arrays are counted from zero. Weights have one entry more than X has columns, the bias.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def column_lists(indptr, indices, data, wanted):
    """Of the wanted columns: where the list of each begins; rows, which ascend in a list; values."""
    heads = np.zeros(wanted.size + 1, np.int32)
    for e in range(indptr[0], indptr[-1]):
        heads[indices[e] + 1] += wanted[indices[e]]
    for column in range(wanted.size):
        heads[column + 1] += heads[column]
    rows, values, place = np.empty(heads[-1], np.int32), np.empty(heads[-1], data.dtype), heads[:-1].copy()
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            column = indices[e]
            if wanted[column]:
                rows[place[column]], values[place[column]] = i, data[e]
                place[column] += 1
    return heads, rows, values


@kernel
def add_listed_products(left, right, first, same, out):
    """Add the products of rows that are listed by column to `out`, a line for each row of `left`.

    If line 0 is row `first` of the `same` rows, those with itself and later ones: the upper triangle.
    """
    (heads, lines, left_values), (right_heads, rows, right_values) = left, right
    for column in range(heads.size - 1):
        start, stop = right_heads[column], right_heads[column + 1]
        for m in range(heads[column], heads[column + 1]):
            line, value = out[lines[m]], left_values[m]
            while same and rows[start] < first + lines[m]:
                start += 1
            for e in range(start, stop):
                line[rows[e]] += value * right_values[e]


@kernel
def add_weighted_sums(first, last, lists, weights, out):
    """Add to lines of `out`, one a column, the weights of the rows that have it, times their values there.

    Columns from `first` to `last`; a row has a line of weights, as long as those of `out`.
    """
    heads, rows, values = lists
    for column in range(first, last):
        line = out[column]
        for m in range(heads[column], heads[column + 1]):
            own, value = weights[rows[m]], values[m]
            for k in range(line.size):
                line[k] += value * own[k]


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
def combine(first, indptr, indices, data, targets, alphas, weights):
    """Add t_i α_i x_i over the rows to the weights of a class."""
    for row in range(indptr.size - 1):
        dual = targets[first + row] * alphas[first + row]
        if dual != 0:
            for e in range(indptr[row], indptr[row + 1]):
                weights[indices[e]] += dual * data[e]
            weights[weights.size - 1] += dual


@kernel
def look(first, indptr, indices, data, targets, weights, alphas, active, margins):
    """Score the rows with a negative margin: which variables may move (`active`); returns their hinge losses.

    The margin of a variable at rest becomes its slope, or a little less as it is rounded, that of others −∞.
    """
    losses = 0.0
    for row in range(indptr.size - 1):
        i = first + row
        if margins[i] < 0:
            score = weights[weights.size - 1]
            for e in range(indptr[row], indptr[row + 1]):
                score += data[e] * weights[indices[e]]
            slope = targets[i] * score - 1
            losses += min(slope, 0.0) ** 2
            active[i] = alphas[i] > 0 or slope < 0
            margins[i] = -np.inf if active[i] else 0.9999 * slope
    return losses


@kernel
def scores(first, indptr, indices, data, rows, weights):
    """Scores of the rows of some numbers, for one class."""
    found = np.full(rows.size, weights[weights.size - 1])
    for place in range(rows.size):
        row = rows[place] - first
        for e in range(indptr[row], indptr[row + 1]):
            found[place] += data[e] * weights[indices[e]]
    return found


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
