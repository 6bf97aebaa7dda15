"""Codes of descriptors over their k nearest atoms (Eqs. 5 to 7), each a k × k problem.

With 1ᵀγ = 1, ‖y − Vγ‖² = γᵀCγ for C = ZZᵀ, where the rows of Z are v_j − y over the k nearest atoms.

    exact   min ½γᵀCγ + β Σ ζ_j|γ_j|,  1ᵀγ = 1,  ζ_j² = C_jj      primal active set
    LLC     (C + ε tr(C) I) γ ∝ 1                                 closed form

A fast float32 product proposes the neighbours; distances summed here, in one order, decide. So a code
depends on its own descriptor alone, not on the block it came in.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel

RIDGE = 1e-10  # of tr(C): makes C definite where atoms repeat, far below the tolerance of any test


@kernel
def _nearest(y, V, squares, products, k, candidates, distances, best, order):
    """order[:k] = indices of the k nearest atoms, best[:k] = squared distances; ties by smaller index."""
    n_atoms = squares.size
    filled = 0
    for j in range(n_atoms):  # the k smallest approximate distances
        distance = squares[j] - np.float32(2) * products[j]
        distances[j] = distance
        if filled < k or distance < best[filled - 1]:
            slot = filled if filled < k else k - 1
            filled = slot + 1
            while slot > 0 and best[slot - 1] > distance:
                best[slot] = best[slot - 1]
                slot -= 1
            best[slot] = distance
    size = np.float32(0)
    for d in range(y.size):
        size += y[d] * y[d]
    limit = best[k - 1] + 1e-5 * (size + abs(best[k - 1]) + 1)  # more than the product can be wrong by
    n_candidates = 0
    for j in range(n_atoms):
        if distances[j] <= limit:
            candidates[n_candidates] = j
            n_candidates += 1
    filled = 0
    for c in range(n_candidates):
        j = candidates[c]
        distance = 0.0
        for d in range(y.size):
            difference = np.float64(V[j, d]) - np.float64(y[d])
            distance += difference * difference
        if filled < k or distance < best[filled - 1]:
            slot = filled if filled < k else k - 1
            filled = slot + 1
            while slot > 0 and best[slot - 1] > distance:
                best[slot], order[slot] = best[slot - 1], order[slot - 1]
                slot -= 1
            best[slot], order[slot] = distance, j


@kernel
def _local_gram(y, V, order, k, Z, C):
    """C = ZZᵀ over the neighbours; returns its trace."""
    for a in range(k):
        for d in range(y.size):
            Z[a, d] = V[order[a], d] - y[d]
    trace = 0.0
    for a in range(k):
        for b in range(a + 1):
            product = np.float32(0)
            for d in range(y.size):
                product += Z[a, d] * Z[b, d]
            C[a, b] = product
            C[b, a] = product
        trace += C[a, a]
    return trace


@kernel
def _factor(C, active, m, ridge, L):
    """Cholesky factor of C restricted to the active atoms, plus ridge."""
    for i in range(m):
        for j in range(i + 1):
            value = C[active[i], active[j]]
            if i == j:
                value += ridge
            for d in range(j):
                value -= L[i, d] * L[j, d]
            if i == j:
                L[i, i] = np.sqrt(max(value, ridge))
            else:
                L[i, j] = value / L[j, j]


@kernel
def _solve(L, m, x):
    """x ← (L Lᵀ)⁻¹ x."""
    for i in range(m):
        value = x[i]
        for d in range(i):
            value -= L[i, d] * x[d]
        x[i] = value / L[i, i]
    for i in range(m - 1, -1, -1):
        x[i] /= L[i, i]
        for d in range(i):
            x[d] -= L[i, d] * x[i]


@kernel
def _closed_form(C, k, ridge, active, L, gamma):
    """γ ∝ (C + ridge I)⁻¹ 1, summing to one."""
    for i in range(k):
        active[i] = i
        gamma[i] = 1.0
    _factor(C, active, k, ridge, L)
    _solve(L, k, gamma)
    total = 0.0
    for i in range(k):
        total += gamma[i]
    for i in range(k):
        gamma[i] /= total


@kernel
def _exact(C, k, penalty, ridge, active, L, gamma, ones, pull, signs, inside):
    """Minimise ½γᵀCγ + Σ penalty_j|γ_j| on 1ᵀγ = 1 from any feasible γ.

    On a fixed support with fixed signs the minimiser is linear algebra. Walk towards it; an atom whose
    code would change sign leaves; at the minimiser, the atom that violates its condition most enters.
    The objective falls with every step, so no support comes twice.
    """
    m = 0
    for i in range(k):
        inside[i] = gamma[i] != 0
        if inside[i]:
            active[m] = i
            signs[i] = np.sign(gamma[i])
            m += 1
    entered = -1
    for _ in range(20 * k):
        _factor(C, active, m, ridge, L)
        sum_ones = sum_pull = 0.0
        for i in range(m):
            ones[i] = 1.0
            pull[i] = penalty[active[i]] * signs[active[i]]
        _solve(L, m, ones)
        _solve(L, m, pull)
        for i in range(m):
            sum_ones += ones[i]
            sum_pull += pull[i]
        level = (1 + sum_pull) / sum_ones  # multiplier of 1ᵀγ = 1
        step, leaver = 1.0, -1
        for i in range(m):
            j = active[i]
            target = level * ones[i] - pull[i]
            if target * signs[j] < 0 and gamma[j] / (gamma[j] - target) < step:
                step, leaver = gamma[j] / (gamma[j] - target), i
        for i in range(m):
            j = active[i]
            gamma[j] += step * (level * ones[i] - pull[i] - gamma[j])
        if leaver >= 0:
            gone = active[leaver]
            gamma[gone] = 0.0
            inside[gone] = False
            for i in range(leaver, m - 1):
                active[i] = active[i + 1]
            m -= 1
            if gone == entered and step == 0.0:
                return  # at the limit of precision
            continue
        worst, entered = 1e-9 * (ridge / RIDGE), -1
        for j in range(k):
            if not inside[j]:
                slope = -level
                for i in range(m):
                    slope += C[j, active[i]] * gamma[active[i]]
                if abs(slope) - penalty[j] > worst:
                    worst, entered = abs(slope) - penalty[j], j
                    signs[j] = -np.sign(slope)
        if entered < 0:
            return
        active[m] = entered
        inside[entered] = True
        m += 1


@kernel
def encode(Y, V, squares, products, k, beta, epsilon, indices, values):
    """Codes of the rows of Y into `indices` and `values`; exact if beta ≥ 0, else LLC with `epsilon`."""
    candidates, order = np.empty(squares.size, np.int64), np.empty(k, np.int64)
    distances, best = np.empty(squares.size, np.float32), np.empty(k)
    Z, C, L = np.empty((k, Y.shape[1]), np.float32), np.empty((k, k)), np.empty((k, k))
    active, inside = np.empty(k, np.int64), np.empty(k, np.bool_)
    gamma, ones, pull, signs, penalty = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for n in range(Y.shape[0]):
        _nearest(Y[n], V, squares, products[n], k, candidates, distances, best, order)
        trace = _local_gram(Y[n], V, order, k, Z, C)
        if trace <= 0 or (beta >= 0 and C[0, 0] == 0):  # the descriptor is an atom: nothing to pay
            gamma[:] = 0.0
            gamma[0] = 1.0
        elif beta >= 0:
            _closed_form(C, k, 1e-6 * trace, active, L, gamma)
            for i in range(k):
                penalty[i] = beta * np.sqrt(C[i, i])
            _exact(C, k, penalty, RIDGE * trace, active, L, gamma, ones, pull, signs, inside)
        else:
            _closed_form(C, k, max(epsilon, RIDGE) * trace, active, L, gamma)
        for i in range(k):
            indices[n, i] = order[i]
            values[n, i] = gamma[i]
