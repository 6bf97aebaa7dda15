"""min_α ½‖y − Dᵀα‖² subject to ‖α‖₁ ≤ r, exactly, and the sums that a dictionary update needs.

What codes on the ball can reach is the convex hull of the points ±r·d_j, so the problem is to find the
point of a hull nearest to y (Wolfe). Start from one corner. While some corner lies beyond the plane through
the present point, square to its distance from y: let it in, and go to the nearest point of the flat through
the corners held; where that leaves their hull, stop at its border and let a corner go. The distance falls
with every step. With r = 0.35 and unit descriptors, one to three corners do.
"""

import numpy as np

from ddlcn.kernels import cholesky
from ddlcn.kernels.compiled import kernel

TINY = 1e-12


@kernel
def _workspace(n_atoms, n_features):
    most = min(2 * n_atoms, n_features + 1) + 1
    return (
        np.empty(most, np.int64),  # atoms of the corners held
        np.empty(most),  # their signs
        np.empty(most),  # their weights, which sum to one
        np.empty(most),
        np.empty(most),
        np.empty(most),
        np.empty((most, most)),
        np.empty(n_atoms),
    )


@kernel
def _code(gram, corr, energy, radius, work):
    """Code of one sample from corr = D y and energy = ‖y‖². Returns the number of corners held."""
    corners, signs, weights, ones, target, inverse, L, residual = work
    if energy <= 0:
        return 0
    scale = energy + radius * radius
    first, gain = 0, -np.inf
    for j in range(corr.size):
        if gram[j, j] > TINY and abs(corr[j]) - 0.5 * radius * gram[j, j] > gain:
            first, gain = j, abs(corr[j]) - 0.5 * radius * gram[j, j]
    corners[0], signs[0], weights[0] = first, 1.0 if corr[first] >= 0 else -1.0, 1.0
    m, factored = 1, 0
    for _ in range(10 * corr.size + 10):
        residual[:] = corr
        for i in range(m):
            share = radius * signs[i] * weights[i]
            for j in range(corr.size):
                residual[j] -= share * gram[corners[i], j]
        level = 0.0
        for i in range(m):
            level += weights[i] * signs[i] * residual[corners[i]]
        new, beyond = -1, level + 1e-10 * scale / radius
        for j in range(corr.size):
            if abs(residual[j]) > beyond:
                new, beyond = j, abs(residual[j])
        if new < 0 or m == corners.size:
            return m
        corners[m], signs[m], weights[m] = new, np.sign(residual[new]), 0.0
        m += 1
        while True:
            for row in range(factored, m):  # inner products of the corners seen from y, plus a constant
                a, seen = corners[row], radius * signs[row]
                for i in range(row + 1):
                    b, other = corners[i], radius * signs[i]
                    L[row, i] = seen * other * gram[a, b] - seen * corr[a] - other * corr[b] + energy + scale
                cholesky.append(row, L[row, row], 1e-13 * scale, L, inverse)
                cholesky.forward(row, 1.0, L, inverse, ones)
            factored = m
            total = 0.0
            for i in range(m):
                total += ones[i] * ones[i]
            for i in range(m):
                target[i] = ones[i] / total
            cholesky.backward(m, L, inverse, target)
            step, leaver = 1.0, -1
            for i in range(m):
                if target[i] <= TINY and weights[i] <= step * (weights[i] - target[i]):
                    step, leaver = weights[i] / max(weights[i] - target[i], TINY), i
            for i in range(m):
                weights[i] += step * (target[i] - weights[i])
            if leaver < 0:
                break
            m -= 1
            factored = leaver
            for i in range(leaver, m):
                corners[i], signs[i], weights[i] = corners[i + 1], signs[i + 1], weights[i + 1]
            if leaver == m and step <= 0:
                return m  # the newcomer gains nothing: at the limit of precision
    return m


@kernel
def l1_ball_codes(gram, correlations, energies, n_features, radius):
    """Dense codes (n, q) of samples from their correlations with the atoms (n, q) and their ‖y‖² (n,)."""
    out = np.zeros(correlations.shape)
    work = _workspace(gram.shape[0], n_features)
    corners, signs, weights = work[:3]
    for i in range(correlations.shape[0]):
        for c in range(_code(gram, correlations[i], energies[i], radius, work)):
            out[i, corners[c]] += radius * signs[c] * weights[c]
    return out


@kernel
def accumulate(samples, gram, correlations, energies, radius, losses):
    """Σ ααᵀ and Σ αyᵀ over samples coded on the present atoms; `losses` gets ½‖y − Dᵀα‖² of each."""
    q, n_features = gram.shape[0], samples.shape[1]
    code_products, code_samples = np.zeros((q, q)), np.zeros((q, n_features))
    work = _workspace(q, n_features)
    corners, signs, weights = work[:3]
    for i in range(samples.shape[0]):
        m = _code(gram, correlations[i], energies[i], radius, work)
        loss = 0.5 * energies[i]
        for a in range(m):
            atom, alpha = corners[a], radius * signs[a] * weights[a]
            loss -= alpha * correlations[i, atom]
            for b in range(m):
                product = alpha * radius * signs[b] * weights[b]
                code_products[atom, corners[b]] += product
                loss += 0.5 * product * gram[atom, corners[b]]
            for d in range(n_features):
                code_samples[atom, d] += alpha * samples[i, d]
        losses[i] = loss
    return code_products, code_samples


@kernel
def update_atoms(atoms, code_products, code_samples):
    """One sweep of exact minimisation over each used atom in turn, on ‖d‖₂ ≤ 1."""
    q, n_features = atoms.shape
    candidate = np.empty(n_features)
    for j in range(q):
        weight = code_products[j, j]
        if weight <= TINY:
            continue
        candidate[:] = code_samples[j] / weight + atoms[j]
        for i in range(q):
            share = code_products[j, i] / weight
            if share != 0:
                for d in range(n_features):
                    candidate[d] -= share * atoms[i, d]
        norm = np.sqrt((candidate * candidate).sum())
        atoms[j] = candidate / max(norm, 1.0)
