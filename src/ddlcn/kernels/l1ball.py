"""min_α ½‖y − Dᵀα‖² subject to ‖α‖₁ ≤ r, exactly, and the sums that a dictionary update needs.

What codes on the ball can reach is the convex hull of the points ±r·d_j, so the problem is to find the
point of a hull nearest to y (Wolfe). Start from one corner. While some corner lies beyond the plane through
the present point, square to its distance from y: let it in, and go to the nearest point of the flat through
the corners held; where that leaves their hull, stop at its border and let a corner go. The distance falls
with every step. With r = 0.35 and unit descriptors, one to three corners do.
"""

import numpy as np

from ddlcn.kernels import cholesky
from ddlcn.kernels.compiled import kernel, part

TINY = 1e-12
CLOSE = 1e-4  # when learning: short samples lie in the hull, and it takes up to 100 corners to hit them


@part
def _workspace(n_atoms, n_features):
    """Corners held (±(atom + 1)), their weights, which sum to one, and room for the algebra."""
    most = min(2 * n_atoms, n_features + 1) + 1
    return np.empty(most, np.int64), np.empty((4, most)), np.empty((most, most)), np.empty(n_atoms)


@part
def _code(gram, corr, energy, radius, close, corners, rooms, L, residual, m):
    """Code of one sample from corr = D y and energy = ‖y‖², starting with m corners, or the best if none.

    It will do to be `close`: a squared distance of that part of the scale. Returns the number of corners held
    in the end; their weights are in rooms[0].
    """
    weights, ones, target, inverse = rooms
    if energy <= 0:
        return 0
    scale = energy + radius * radius
    if m == 0:
        gain = -np.inf
        corners[0], m = 1, 1
        for j in range(corr.size):
            if gram[j, j] > TINY and abs(corr[j]) - 0.5 * radius * gram[j, j] > gain:
                gain = abs(corr[j]) - 0.5 * radius * gram[j, j]
                corners[0] = j + 1 if corr[j] >= 0 else -j - 1
    for i in range(m):
        weights[i] = 1 / m
    factored = 0
    for _ in range(10 * corr.size + 10):
        # to the nearest point of the flat, or until a weight falls to zero
        for row in range(factored, m):
            a, seen = abs(corners[row]) - 1, radius * np.sign(corners[row])
            for i in range(row + 1):  # inner products of the corners seen from y, plus a constant
                b, other = abs(corners[i]) - 1, radius * np.sign(corners[i])
                L[row, i] = seen * other * gram[a, b] - seen * corr[a] - other * corr[b] + energy + scale
            cholesky.append(row, L[row, row], 1e-13 * scale, L, inverse)
            cholesky.forward(row, 1.0, L, inverse, ones)
        total = 0.0
        for i in range(m):
            total += ones[i] * ones[i]
        for i in range(m):
            target[i] = ones[i] / total
        cholesky.backward(m, L, inverse, target)
        factored, step, leaver = m, 1.0, -1
        for i in range(m):
            if target[i] <= TINY and weights[i] <= step * (weights[i] - target[i]):
                step, leaver = weights[i] / max(weights[i] - target[i], TINY), i
        for i in range(m):
            weights[i] += step * (target[i] - weights[i])
        if leaver >= 0:
            m -= 1
            factored = leaver
            for i in range(leaver, m):
                corners[i], weights[i] = corners[i + 1], weights[i + 1]
            if leaver == m and step <= 0:
                return m  # the newcomer gains nothing: at the limit of precision
            continue
        if 1 / total - scale <= close * scale:
            return m
        # the corner farthest beyond the plane through that point
        for j in range(corr.size):
            residual[j] = corr[j]
        level = 0.0
        for i in range(m):
            a, share = abs(corners[i]) - 1, radius * np.sign(corners[i]) * weights[i]
            for j in range(corr.size):
                residual[j] -= share * gram[a, j]
        for i in range(m):
            level += weights[i] * np.sign(corners[i]) * residual[abs(corners[i]) - 1]
        new, beyond = 0, level + 1e-10 * scale / radius
        for j in range(corr.size):
            if abs(residual[j]) > beyond:
                new, beyond = j + 1 if residual[j] > 0 else -j - 1, abs(residual[j])
        if new == 0 or m == corners.size:
            return m
        corners[m], weights[m] = new, 0.0
        m += 1
    return m


@kernel
def l1_ball_codes(gram, correlations, energies, n_features, radius):
    """Dense codes (n, q) of samples from their correlations with the atoms (n, q) and their ‖y‖² (n,)."""
    out = np.zeros(correlations.shape)
    corners, rooms, L, residual = _workspace(gram.shape[0], n_features)
    for i in range(correlations.shape[0]):
        m = _code(gram, correlations[i], energies[i], radius, 0.0, corners, rooms, L, residual, 0)
        for c in range(m):
            out[i, abs(corners[c]) - 1] += radius * np.sign(corners[c]) * rooms[0, c]
    return out


@kernel
def accumulate(samples, gram, correlations, energies, radius, held, losses):
    """Σ ααᵀ and Σ αyᵀ over samples coded on the present atoms; `losses` gets ½‖y − Dᵀα‖² of each.

    `held` (n, 4) keeps the corners of each sample from one pass to the next, where the code starts.
    """
    q, n_features = gram.shape[0], samples.shape[1]
    code_products, code_samples = np.zeros((q, q)), np.zeros((q, n_features))
    corners, rooms, L, residual = _workspace(q, n_features)
    alphas = np.empty(corners.size)
    for i in range(samples.shape[0]):
        m = 0
        while m < held.shape[1] and held[i, m] != 0:
            corners[m] = held[i, m]
            m += 1
        m = _code(gram, correlations[i], energies[i], radius, CLOSE, corners, rooms, L, residual, m)
        for c in range(held.shape[1]):
            held[i, c] = corners[c] if c < m else 0
        loss = 0.5 * energies[i]
        for a in range(m):
            atom = abs(corners[a]) - 1
            alphas[a] = alpha = radius * np.sign(corners[a]) * rooms[0, a]
            loss -= alpha * correlations[i, atom]
            for b in range(a + 1):
                product, other = alpha * alphas[b], abs(corners[b]) - 1
                loss += (0.5 if a == b else 1.0) * product * gram[atom, other]
                code_products[atom, other] += product
                if a != b:
                    code_products[other, atom] += product
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
        for d in range(n_features):
            candidate[d] = code_samples[j, d] / weight + atoms[j, d]
        for i in range(q):
            share = code_products[j, i] / weight
            if share != 0:
                for d in range(n_features):
                    candidate[d] -= share * atoms[i, d]
        energy = 0.0
        for d in range(n_features):
            energy += candidate[d] * candidate[d]
        length = max(np.sqrt(energy), 1.0)
        for d in range(n_features):
            atoms[j, d] = candidate[d] / length
