"""Codes of descriptors over their k nearest atoms (Eqs. 5 to 7), each a k × k problem.

With 1ᵀγ = 1, ‖y − Vγ‖² = γᵀCγ for C = ZZᵀ, where the rows of Z are v_j − y over the k nearest atoms.

    exact   min ½γᵀCγ + β Σ ζ_j|γ_j|,  1ᵀγ = 1,  ζ_j² = C_jj      primal active set
    LLC     (C + ε tr(C) I) γ ∝ 1                                 closed form

The k nearest atoms, and how far they are, come from `neighbors`.
"""

import numpy as np

from ddlcn.kernels import cholesky
from ddlcn.kernels.compiled import kernel, part

RIDGE = 1e-10  # of tr(C): makes C definite where atoms repeat, far below the tolerance of any test
LANES = 8  # LLC systems solved side by side


@kernel
def pairwise_distances(V):
    """The table of ‖v_a − v_b‖² of all atoms."""
    table = np.zeros((V.shape[0], V.shape[0]))
    for a in range(V.shape[0]):
        for b in range(a):
            distance = 0.0
            for d in range(V.shape[1]):
                difference = np.float64(V[a, d]) - np.float64(V[b, d])
                distance += difference * difference
            table[a, b] = table[b, a] = distance
    return table


@part
def _gram_by_table(order, best, distances, C):
    """C over the neighbours by 2 z_a·z_b = ‖z_a‖² + ‖z_b‖² − ‖v_a − v_b‖²."""
    for a in range(order.size):
        for b in range(a + 1):
            C[a, b] = C[b, a] = 0.5 * (best[a] + best[b] - distances[order[a], order[b]])


@part
def _differences(y, V, order, Z, rest):
    """The rows v_j − y of Z over the neighbours; none has its row of C yet."""
    for a in range(order.size):
        atom, z, rest[a] = V[order[a]], Z[a], a
        for d in range(y.size):
            z[d] = np.float64(atom[d]) - np.float64(y[d])


@part
def _gram_row(a, Z, rest, n_rest, C):
    """The products z_a·z_b into row and column a of C, for those b in rest[:n_rest] that have no row yet.

    Strikes a off the list and returns its new length.
    """
    left = 0
    for r in range(n_rest):
        b, product = rest[r], 0.0
        for d in range(Z.shape[1]):
            product += Z[a, d] * Z[b, d]
        C[a, b] = C[b, a] = product
        rest[left] = b
        left += b != a
    return left


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
def _exact(C, made, Z, rest, penalty, ridge, active, inside, L, rooms, gamma):
    """Minimise ½γᵀCγ + Σ penalty_j|γ_j| on 1ᵀγ = 1, from the nearest atom.

    On a fixed support with fixed signs the minimiser is linear algebra. Walk towards it; an atom whose
    code would change sign leaves; at the minimiser, the atom that violates its condition most enters.
    The objective falls with every step, so no support comes twice. A row of C that is not `made` yet is
    made when its atom enters; most never do.
    """
    k = penalty.size
    inverse, ones, pull, target, signs, slopes = rooms
    gamma[:] = 0.0
    inside[:] = False
    gamma[0], signs[0], inside[0], active[0] = 1.0, 1.0, True, 0
    m, factored, entered, n_rest = 1, 0, 0, k
    for _ in range(20 * k):
        while factored < m:
            j = active[factored]
            if not made[j]:
                made[j] = True
                n_rest = _gram_row(j, Z, rest, n_rest, C)
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
def encode_exact(Y, V, distances, orders, squared, beta, indices, values):
    """Exact codes of the rows of Y into `indices` and `values`, both (n, k).

    Row n of `orders` names the nearest atoms of row n of Y, row n of `squared` has their squared distances.
    """
    k = indices.shape[1]
    Z, rest = np.empty((k, V.shape[1])), np.empty(k, np.int64)
    active, inside, made = np.empty(k, np.int64), np.empty(k, np.bool_), np.empty(k, np.bool_)
    C, L, rooms, gamma, penalty = (np.empty((k, k)), np.empty((k, k)), np.empty((6, k)), np.empty(k), np.empty(k))
    for n in range(Y.shape[0]):
        order, best = orders[n], squared[n]
        trace = best.sum()
        if trace > 0:
            made[:] = distances.size > 0
            if distances.size:
                _gram_by_table(order, best, distances, C)
            else:
                _differences(Y[n], V, order, Z, rest)
            for i in range(k):
                penalty[i] = beta * np.sqrt(best[i])
            _exact(C, made, Z, rest, penalty, RIDGE * trace, active, inside, L, rooms, gamma)
        _write(gamma, trace, order, indices[n], values[n])


@kernel
def encode_llc(Y, V, distances, orders, squared, epsilon, indices, values):
    """LLC codes of the rows of Y into `indices` and `values`, both (n, k)."""
    k = indices.shape[1]
    Z, rest = np.empty((k, V.shape[1])), np.empty(k, np.int64)
    traces, ridge = np.empty(LANES), np.empty(LANES)
    C, L = np.empty((k, k, LANES)), np.empty((k, k, LANES))
    inverse, gamma = np.empty((k, LANES)), np.empty((k, LANES))
    for start in range(0, Y.shape[0], LANES):
        for lane in range(LANES):
            n = min(start + lane, Y.shape[0] - 1)
            if distances.size:
                _gram_by_table(orders[n], squared[n], distances, C[:, :, lane])
            else:
                _differences(Y[n], V, orders[n], Z, rest)
                for a in range(k - 1, -1, -1):
                    _gram_row(a, Z, rest, a + 1, C[:, :, lane])
            traces[lane] = squared[n].sum()
            ridge[lane] = max(epsilon, RIDGE) * traces[lane] if traces[lane] > 0 else 1.0
        _closed_forms(C, ridge, L, inverse, gamma)
        for n in range(start, min(start + LANES, Y.shape[0])):
            lane = n - start
            _write(gamma[:, lane], traces[lane], orders[n], indices[n], values[n])


@part
def _write(gamma, trace, order, indices, values):
    """One code, scaled to the sum one; where all neighbours are the descriptor itself, the first of them."""
    total = 0.0
    for i in range(order.size):
        total += gamma[i]
    for i in range(order.size):
        indices[i] = order[i]
        values[i] = gamma[i] / total if trace > 0 else i == 0
