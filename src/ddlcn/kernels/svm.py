"""Loops of the linear SVM: products of sparse rows, and rounds and epochs of its solvers.

Rows are those of a CSR matrix; indices within a row ascend. Numbers of entries are unsigned: indices that might be
negative would be checked, and take twice the time.

A dual variable α_i ≥ 0 has the slope t_i f_i − 1 + ridge_i α_i with ridge_i = 1 / 2C_i. A step sets it to where the
slope is zero, or to zero. The largest slope of a variable that was free to move says when epochs end.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel, part

MAX_EPOCHS = 100  # of a round
ROUND_ENDS = 0.1  # at this share of its largest slope


@part
def dot(start, stop, indices, data, weights):
    """The product of a row with weights, the last of which is the bias."""
    score = weights[weights.size - 1]
    for e in range(np.uint64(start), np.uint64(stop)):
        score += data[e] * weights[np.uint64(indices[e])]
    return score


@part
def add(start, stop, indices, data, factor, weights):
    """Add a multiple of a row to weights, the last of which is the bias."""
    for e in range(np.uint64(start), np.uint64(stop)):
        weights[np.uint64(indices[e])] += factor * data[e]
    weights[weights.size - 1] += factor


@part
def first_at(values, start, stop, least):
    """The first place from `start` to `stop` whose value, in rising order, is at least `least`."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < least:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def count_columns(starts, stops, indices, counts):
    """Add the number of rows that have each column; row i has the entries from starts[i] to stops[i]."""
    for i in range(starts.size):
        for e in range(starts[i], stops[i]):
            counts[indices[e]] += 1


@kernel
def list_columns(starts, stops, indices, data, first, counts, place, rows, values):
    """List rows and values of the columns from `first` on; `place` is where the next entry of a column goes.

    Columns with a count of zero are left out.
    """
    for i in range(starts.size):
        start = first_at(indices, starts[i], stops[i], first)
        for e in range(start, first_at(indices, start, stops[i], first + counts.size)):
            column = indices[e] - first
            if counts[column]:
                rows[place[column]], values[place[column]] = i, data[e]
                place[column] += 1


@kernel
def fill_columns(starts, stops, indices, data, first, places, out):
    """Copy columns from `first` on into a dense array: places[c] says where to, or is negative."""
    for i in range(starts.size):
        start, line = first_at(indices, starts[i], stops[i], first), out[i]
        for e in range(start, first_at(indices, start, stops[i], first + places.size)):
            place = places[indices[e] - first]
            if place >= 0:
                line[place] = data[e]


@kernel
def add_listed_products(heads, rows, values, first, out):
    """Add products of rows, listed by column, to lines of X Xᵀ from row `first` on, on and above the diagonal.

    Four lines at a time, as entries are then read less often. Below the diagonal there are numbers too.
    """
    for column in range(heads.size - 1):
        start = first_at(rows, heads[column], heads[column + 1], first)
        stop = first_at(rows, start, heads[column + 1], first + out.shape[0])
        for a in range(start, stop, 4):
            last = stop - 1
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            line_a, line_b = out[rows[a] - first], out[rows[b] - first]
            line_c, line_d = out[rows[c] - first], out[rows[d] - first]
            value_a, value_b = values[a], values[b] * (b > a)
            value_c, value_d = values[c] * (c > b), values[d] * (d > c)
            for e in range(np.uint64(a), np.uint64(heads[column + 1])):
                row, value = np.uint64(rows[e]), values[e]
                line_a[row] += value_a * value
                line_b[row] += value_b * value
                line_c[row] += value_c * value
                line_d[row] += value_d * value


@kernel
def add_products(indptr, indices, data, first, lines, out):
    """Add X B to `out`, for lines of B that belong to the columns from `first` on."""
    for i in range(indptr.size - 1):
        sums, start = out[i], first_at(indices, indptr[i], indptr[i + 1], first)
        for e in range(start, first_at(indices, start, indptr[i + 1], first + lines.shape[0])):
            line, value = lines[indices[e] - first], data[e]
            for k in range(sums.size):
                sums[k] += value * line[k]


@kernel
def squared_norms(indptr, data):
    """‖x_i‖² of all rows."""
    squares = np.zeros(indptr.size - 1)
    for i in range(squares.size):
        for e in range(indptr[i], indptr[i + 1]):
            squares[i] += data[e] ** 2
    return squares


def xorshift_state(seed: int) -> np.ndarray:
    """State of the random numbers of `shuffle`, which changes it; not zero for seeds from 0 on."""
    return np.array([(int(seed) + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)


@part
def shuffle(rows, n, random):
    """Bring the first n rows into random order (Fisher and Yates; numbers by Marsaglia's xorshift)."""
    number = random[0]
    for i in range(n - 1, 0, -1):
        number ^= number << np.uint64(13)
        number ^= number >> np.uint64(7)
        number ^= number << np.uint64(17)
        j = number % np.uint64(i + 1)
        rows[i], rows[j] = rows[j], rows[i]
    random[0] = number


@kernel
def gram_round(gram, signs, costs, ridge, alphas, scores, random, tol):
    """One round on X Xᵀ: returns the relative gap, and where it exceeds `tol`, runs epochs over the active rows.

    A step changes the scores of all rows.
    """
    losses = squares = linear = quadratic = 0.0
    active, n_active = np.empty(alphas.size, np.int64), 0
    for i in range(alphas.size):
        slope = signs[i] * scores[i] - 1
        losses += costs[i] * min(slope, 0.0) ** 2
        squares += signs[i] * alphas[i] * scores[i]
        linear += alphas[i]
        quadratic += ridge[i] * alphas[i] ** 2
        if costs[i] > 0 and (alphas[i] > 0 or slope < 0):
            active[n_active] = i
            n_active += 1
    primal, dual = squares / 2 + losses, linear - quadratic / 2 - squares / 2
    gap = (primal - dual) / primal if primal > 0 else 0.0
    if gap <= tol:
        return gap
    enough = np.sqrt(tol)  # the largest slope of the last epoch; gaps go with its square
    for _ in range(MAX_EPOCHS):
        shuffle(active, n_active, random)
        worst = 0.0
        for a in range(n_active):
            i = active[a]
            alpha = alphas[i]
            slope = signs[i] * scores[i] - 1 + ridge[i] * alpha
            if alpha > 0 or slope < 0:
                worst = max(worst, abs(slope))
                alphas[i] = max(alpha - slope / (gram[i, i] + 1 + ridge[i]), 0.0)
                change, line = (alphas[i] - alpha) * signs[i], gram[i]
                for j in range(scores.size):
                    scores[j] += change * (line[j] + 1.0)
        enough = max(enough, ROUND_ENDS * worst)
        if worst <= enough:
            break
    return gap


@kernel
def sparse_epoch(indptr, indices, data, signs, squares, ridge, alphas, weights, order):
    """One epoch over the rows in `order`; a step changes the weights."""
    worst = 0.0
    for i in order:
        alpha, start, stop = alphas[i], indptr[i], indptr[i + 1]
        slope = signs[i] * dot(start, stop, indices, data, weights) - 1 + ridge[i] * alpha
        if alpha > 0 or slope < 0:
            worst = max(worst, abs(slope))
            alphas[i] = max(alpha - slope / (squares[i] + 1 + ridge[i]), 0.0)
            change = weights.dtype.type((alphas[i] - alpha) * signs[i])
            add(start, stop, indices, data, change, weights)
    return worst


@kernel
def weights_of_duals(indptr, indices, data, duals, n_weights):
    """Σ_i duals_i (x_i, 1) in float64."""
    weights = np.zeros(n_weights)
    for i in range(duals.size):
        if duals[i] != 0:
            add(indptr[i], indptr[i + 1], indices, data, duals[i], weights)
    return weights


@kernel
def update_active_set(indptr, indices, data, signs, costs, weights, alphas, active, margins):
    """Score the rows with a negative margin, mark which variables may move, and return Σ C_i loss_i.

    The margin of a variable at rest becomes its slope, or a little less for rounding; that of others −∞.
    """
    losses = 0.0
    for i in range(signs.size):
        if margins[i] < 0:
            slope = signs[i] * dot(indptr[i], indptr[i + 1], indices, data, weights) - 1
            losses += costs[i] * min(slope, 0.0) ** 2
            active[i] = alphas[i] > 0 or slope < 0
            margins[i] = -np.inf if active[i] else 0.9999 * slope
    return losses
