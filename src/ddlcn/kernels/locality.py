"""Codes of descriptors over their k nearest atoms (Eqs. 5 to 7), each a k × k problem.

With 1ᵀγ = 1, ‖y − Vγ‖² = γᵀCγ for C = ZZᵀ, where the rows of Z are v_j − y over the k nearest atoms.

    exact   min ½γᵀCγ + β Σ ζ_j|γ_j|,  1ᵀγ = 1,  ζ_j² = C_jj      primal active set
    LLC     (C + ε tr(C) I) γ ∝ 1                                 closed form

A fast float32 product proposes the neighbours; distances summed here, in one order, decide. So a code
depends on its own descriptor alone, not on the block it came in.
"""

import numpy as np

from ddlcn.kernels import cholesky
from ddlcn.kernels.compiled import kernel, part

RIDGE = 1e-10  # of tr(C): makes C definite where atoms repeat, far below the tolerance of any test
GROUPS = 64
LANES = 8  # LLC systems solved side by side


@part
def _limit(y, distances, k, minima):
    """A bound that at least the k nearest atoms keep, hardly more, whatever the rounding of `distances`.

    Deal the atoms to groups, j to j mod GROUPS: a bound that the minima of k groups keep, found by bisection.
    """
    minima[:] = np.inf
    whole = distances.size // GROUPS * GROUPS
    for start in range(0, whole, GROUPS):
        for g in range(GROUPS):
            distance = distances[start + g]
            minima[g] = distance if distance < minima[g] else minima[g]
    for j in range(whole, distances.size):
        minima[j - whole] = min(minima[j - whole], distances[j])
    low = high = minima[0]
    for g in range(GROUPS):
        low, high = min(low, minima[g]), max(high, minima[g])
    for _ in range(8):
        middle, count = np.float32(0.5) * (low + high), np.int32(0)
        for g in range(GROUPS):
            count += np.int32(minima[g] <= middle)
        if count >= k:
            high = middle
        else:
            low = middle
    size = np.float32(0)
    for d in range(y.size):
        size += y[d] * y[d]
    return high + np.float32(1e-5) * (size + abs(high) + 1)


@part
def _nearest(y, V, squares, products, k, exact, distances, candidates, minima, best, order):
    """order[:k] = the k nearest atoms, best[:k] = their squared distances; ties by smaller index."""
    n_atoms, n_candidates = squares.size, 0
    for j in range(n_atoms):
        distances[j] = squares[j] - np.float32(2) * products[j]
    limit = np.float32(np.inf)
    if n_atoms > GROUPS >= 2 * k:
        limit = _limit(y, distances, k, minima)
    if n_atoms > 16 * GROUPS >= 32 * k:
        for g in range(GROUPS):
            if minima[g] <= limit:
                for j in range(g, n_atoms, GROUPS):
                    candidates[n_candidates] = j
                    n_candidates += distances[j] <= limit
    else:
        for j in range(n_atoms):
            candidates[n_candidates] = j
            n_candidates += distances[j] <= limit
    for d in range(y.size):
        exact[d] = y[d]
    filled = 0
    for c in range(n_candidates):
        j, distance = candidates[c], 0.0
        for d in range(y.size):
            difference = np.float64(V[j, d]) - exact[d]
            distance += difference * difference
        if filled < k or distance < best[k - 1] or (distance == best[k - 1] and j < order[k - 1]):
            slot = min(filled, k - 1)
            filled = slot + 1
            while slot > 0 and (
                best[slot - 1] > distance or (best[slot - 1] == distance and order[slot - 1] > j)
            ):
                best[slot], order[slot] = best[slot - 1], order[slot - 1]
                slot -= 1
            best[slot], order[slot] = distance, j


@part
def _apart(V, a, b):
    distance = 0.0
    for d in range(V.shape[1]):
        difference = np.float64(V[a, d]) - np.float64(V[b, d])
        distance += difference * difference
    return distance


@kernel
def distances_apart(V):
    """The table of ‖v_a − v_b‖² of all atoms."""
    table = np.zeros((V.shape[0], V.shape[0]))
    for a in range(V.shape[0]):
        for b in range(a):
            table[a, b] = table[b, a] = _apart(V, a, b)
    return table


@part
def _local_gram(V, order, best, apart, C):
    """C over the neighbours by 2 z_a·z_b = ‖z_a‖² + ‖z_b‖² − ‖v_a − v_b‖²; returns its trace.

    `apart` is the table of `distances_apart`, or empty to compute what is needed of it.
    """
    trace = 0.0
    for a in range(order.size):
        trace += best[a]
        C[a, a] = best[a]
        for b in range(a):
            distance = apart[order[a], order[b]] if apart.size else _apart(V, order[a], order[b])
            C[a, b] = C[b, a] = 0.5 * (best[a] + best[b] - distance)
    return trace


@part
def _closed_forms(C, ridge, factor, inverse, gamma):
    """γ ∝ (C + ridge I)⁻¹ 1 for LANES descriptors side by side, so that vector units work across them.

    C, factor (k, k, LANES), the others (k, LANES) and (LANES): a Cholesky factor row by row, L⁻¹1 with it,
    then L⁻ᵀ of that. `cholesky` is the same for one system.
    """
    k = C.shape[0]
    for m in range(k):
        pivot, solved, row = inverse[m], gamma[m], factor[m]
        for lane in range(LANES):
            pivot[lane], solved[lane] = C[m, m, lane] + ridge[lane], 1.0
        for i in range(m):
            entry = row[i]
            for lane in range(LANES):
                entry[lane] = C[m, i, lane]
            for j in range(i):
                for lane in range(LANES):
                    entry[lane] -= factor[i, j, lane] * row[j, lane]
            for lane in range(LANES):
                entry[lane] *= inverse[i, lane]
                pivot[lane] -= entry[lane] * entry[lane]
                solved[lane] -= entry[lane] * gamma[i, lane]
        for lane in range(LANES):
            pivot[lane] = 1 / np.sqrt(max(pivot[lane], ridge[lane]))
            solved[lane] *= pivot[lane]
    for m in range(k - 1, -1, -1):
        for lane in range(LANES):
            gamma[m, lane] *= inverse[m, lane]
        for j in range(m):
            for lane in range(LANES):
                gamma[j, lane] -= factor[m, j, lane] * gamma[m, lane]


@part
def _exact(C, k, penalty, ridge, active, L, inverse, ones, pull, target, signs, slopes, inside, gamma):
    """Minimise ½γᵀCγ + Σ penalty_j|γ_j| on 1ᵀγ = 1, from the nearest atom.

    On a fixed support with fixed signs the minimiser is linear algebra. Walk towards it; an atom whose
    code would change sign leaves; at the minimiser, the atom that violates its condition most enters.
    The objective falls with every step, so no support comes twice.
    """
    gamma[:] = 0.0
    inside[:] = False
    gamma[0], signs[0], inside[0], active[0] = 1.0, 1.0, True, 0
    m, factored, entered = 1, 0, 0
    for _ in range(20 * k):
        while factored < m:
            j = active[factored]
            for i in range(factored):
                L[factored, i] = C[j, active[i]]
            cholesky.append(factored, C[j, j] + ridge, ridge, L, inverse)
            cholesky.forward(factored, 1.0, L, inverse, ones)
            cholesky.forward(factored, penalty[j] * signs[j], L, inverse, pull)
            factored += 1
        ones_ones = ones_pull = 0.0
        for i in range(m):
            ones_ones += ones[i] * ones[i]
            ones_pull += ones[i] * pull[i]
        level = (1 + ones_pull) / ones_ones  # multiplier of 1ᵀγ = 1
        for i in range(m):
            target[i] = level * ones[i] - pull[i]
        cholesky.backward(m, L, inverse, target)
        step, leaver = 1.0, -1
        for i in range(m):
            j = active[i]
            if target[i] * signs[j] < 0 and gamma[j] / (gamma[j] - target[i]) < step:
                step, leaver = gamma[j] / (gamma[j] - target[i]), i
        for i in range(m):
            j = active[i]
            gamma[j] += step * (target[i] - gamma[j])
        if leaver >= 0:
            gone = active[leaver]
            gamma[gone] = 0.0
            inside[gone] = False
            for i in range(leaver, m - 1):
                active[i] = active[i + 1]
            m -= 1
            factored = leaver
            if gone == entered and step <= 0:
                return  # at the limit of precision
            continue
        worst, entered = 1e-9 * (ridge / RIDGE), -1
        slopes[:] = -level
        for i in range(m):
            share, row = gamma[active[i]], C[active[i]]
            for j in range(k):
                slopes[j] += share * row[j]
        for j in range(k):
            if not inside[j] and abs(slopes[j]) - penalty[j] > worst:
                worst, entered = abs(slopes[j]) - penalty[j], j
                signs[j] = -np.sign(slopes[j])
        if entered < 0:
            return
        active[m] = entered
        inside[entered] = True
        m += 1


@kernel
def encode_exact(Y, V, squares, apart, products, beta, indices, values):
    """Exact codes of the rows of Y into `indices` and `values`, both (n, k)."""
    k = indices.shape[1]
    exact, distances, candidates, minima, best, order = _room(V, k)
    active, inside, inverse = np.empty(k, np.int64), np.empty(k, np.bool_), np.empty(k)
    C, L = np.empty((k, k)), np.empty((k, k))
    gamma, ones, pull, target = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    signs, slopes, penalty = np.empty(k), np.empty(k), np.empty(k)
    for n in range(Y.shape[0]):
        _nearest(Y[n], V, squares, products[n], k, exact, distances, candidates, minima, best, order)
        trace = _local_gram(V, order, best, apart, C)
        for i in range(k):
            penalty[i] = beta * np.sqrt(best[i])
        if trace > 0:
            ridge = RIDGE * trace
            _exact(C, k, penalty, ridge, active, L, inverse, ones, pull, target, signs, slopes, inside, gamma)
        _write(gamma, trace, order, indices[n], values[n])


@kernel
def encode_llc(Y, V, squares, apart, products, epsilon, indices, values):
    """LLC codes of the rows of Y into `indices` and `values`, both (n, k)."""
    k = indices.shape[1]
    exact, distances, candidates, minima, best, _ = _room(V, k)
    orders, traces, ridge = np.empty((LANES, k), np.int64), np.empty(LANES), np.empty(LANES)
    C, L = np.empty((k, k, LANES)), np.empty((k, k, LANES))
    inverse, gamma = np.empty((k, LANES)), np.empty((k, LANES))
    for start in range(0, Y.shape[0], LANES):
        for lane in range(LANES):
            n, order = min(start + lane, Y.shape[0] - 1), orders[lane]
            _nearest(Y[n], V, squares, products[n], k, exact, distances, candidates, minima, best, order)
            traces[lane] = _local_gram(V, order, best, apart, C[:, :, lane])
            ridge[lane] = max(epsilon, RIDGE) * traces[lane] if traces[lane] > 0 else 1.0
        _closed_forms(C, ridge, L, inverse, gamma)
        for n in range(start, min(start + LANES, Y.shape[0])):
            lane = n - start
            _write(gamma[:, lane], traces[lane], orders[lane], indices[n], values[n])


@part
def _room(V, k):
    """Arrays that `_nearest` works in."""
    distances, minima = np.empty(V.shape[0], np.float32), np.empty(GROUPS, np.float32)
    candidates, order = np.empty(V.shape[0] + 1, np.int64), np.empty(k, np.int64)
    return np.empty(V.shape[1]), distances, candidates, minima, np.empty(k), order


@part
def _write(gamma, trace, order, indices, values):
    """One code, scaled to the sum one; where all neighbours are the descriptor itself, the first of them."""
    total = 0.0
    for i in range(order.size):
        total += gamma[i]
    for i in range(order.size):
        indices[i] = order[i]
        values[i] = gamma[i] / total if trace > 0 else i == 0
