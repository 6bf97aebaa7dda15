"""Dual coordinate descent for squared-hinge SVMs, on a Gram matrix or on sparse rows.

A dual variable α_i ≥ 0 has the slope t_i f_i − 1 + α_i / 2C; a step sets it to where the slope is zero, or to
zero. A pass returns the worst slope that it found at a variable free to move. ridge = 1 / 2C throughout.

Sparse rows are given as the three arrays of a CSR matrix that begins with row number `first`; rows in other
arrays are counted from zero. Weights have one entry more than X has columns, the bias.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def count_columns(indptr, indices, counts):
    """Add in how many rows each column is."""
    for e in range(indptr[0], indptr[-1]):
        counts[indices[e]] += 1


@kernel
def list_columns(first, indptr, indices, data, start, counts, place, rows, values):
    """Put rows' numbers and values into lists of columns from `start`; the place of each moves along.

    Indices within a row ascend. Columns whose count is zero are left out.
    """
    for i in range(indptr.size - 1):
        own = indices[indptr[i] : indptr[i + 1]]
        for e in range(np.searchsorted(own, start), np.searchsorted(own, start + counts.size)):
            column = own[e] - start
            if counts[column]:
                rows[place[column]], values[place[column]] = first + i, data[indptr[i] + e]
                place[column] += 1


@kernel
def add_listed_products(lists, first, out):
    """Add the products of rows that are listed by column, in rising order, to lines from row `first` on.

    Those with itself and later ones: the upper triangle.
    """
    heads, rows, values = lists
    for column in range(heads.size - 1):
        stop = heads[column + 1]
        for m in range(heads[column], stop):
            if rows[m] >= first + len(out):
                break
            if rows[m] >= first:
                line, value = out[rows[m] - first], values[m]
                for e in range(m, stop):
                    line[rows[e]] += value * values[e]


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
def add_products(indptr, indices, data, start, lines, out):
    """Add to lines of `out`, one a row, the entries of rows in columns from `start`, times a line for each.

    Indices within a row ascend.
    """
    for i in range(indptr.size - 1):
        own, sums = indices[indptr[i] : indptr[i + 1]], out[i]
        for e in range(np.searchsorted(own, start), np.searchsorted(own, start + len(lines))):
            line, value = lines[own[e] - start], data[indptr[i] + e]
            for k in range(sums.size):
                sums[k] += value * line[k]


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
def look(first, indptr, indices, data, targets, weights, alphas, active, margins, losses):
    """Score the rows with a negative margin: which variables may move (`active`); adds up their hinge losses.

    The margin of a variable at rest becomes its slope, or a little less as it is rounded, that of others −∞.
    """
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
def dense_columns(first, indptr, indices, data, start, places, dense):
    """Fill lines of a dense array with columns of X from `start`, each at its place, those at −1 left out.

    Indices within a row ascend.
    """
    for i in range(indptr.size - 1):
        own = indices[indptr[i] : indptr[i + 1]]
        for e in range(np.searchsorted(own, start), np.searchsorted(own, start + places.size)):
            if places[own[e] - start] >= 0:
                dense[first + i, places[own[e] - start]] = data[indptr[i] + e]
