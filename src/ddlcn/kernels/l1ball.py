"""min_α ½‖y − Dᵀα‖² subject to ‖α‖₁ ≤ radius, exactly, and the sums that a dictionary update needs.

Homotopy (LARS) on the Gram matrix: all active atoms keep equal, falling correlation with the residual
while ‖α‖₁ grows; the path ends where ‖α‖₁ = radius or nothing is left to explain. With a radius of 0.35
and unit descriptors that is after one to three steps.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel

TINY = 1e-12


@kernel
def _append(chol, m, gram, active, new):
    """Extend the Cholesky factor of the active Gram block by atom `new`; False if it is dependent."""
    for i in range(m):
        value = gram[active[i], new]
        for j in range(i):
            value -= chol[i, j] * chol[m, j]
        chol[m, i] = value / chol[i, i]
    rest = gram[new, new]
    for j in range(m):
        rest -= chol[m, j] * chol[m, j]
    if rest <= 1e-9 * gram[new, new]:
        return False
    chol[m, m] = np.sqrt(rest)
    return True


@kernel
def _solve(chol, m, b, x):
    """x = (L Lᵀ)⁻¹ b for the leading m × m block."""
    for i in range(m):
        value = b[i]
        for j in range(i):
            value -= chol[i, j] * x[j]
        x[i] = value / chol[i, i]
    for i in range(m - 1, -1, -1):
        value = x[i]
        for j in range(i + 1, m):
            value -= chol[j, i] * x[j]
        x[i] = value / chol[i, i]


@kernel
def l1_ball_code(gram, corr, radius, active, alpha, work, chol, barred, falls):
    """Solve for one sample; `corr` = D y is overwritten by the residual's. Returns the number of active atoms.

    The code is left in `active[:m]` (atom indices) and `alpha[:m]`.
    """
    q = corr.size
    signs, slopes = work[0], work[1]
    m, used = 0, 0.0
    new, level = -1, 0.0
    for j in range(q):
        barred[j] = gram[j, j] <= TINY
        if not barred[j] and abs(corr[j]) > level:
            new, level = j, abs(corr[j])
    for _ in range(10 * q + 10):  # ends by itself; bounded against cycling on ties
        if level <= TINY or used >= radius:
            break
        if new >= 0:
            barred[new] = True
            if m < active.size and _append(chol, m, gram, active, new):
                active[m], alpha[m], signs[m] = new, 0.0, np.sign(corr[new])
                m += 1
        _solve(chol, m, signs, slopes)  # direction in which all active correlations fall at rate 1
        growth = 0.0
        for i in range(m):
            growth += signs[i] * slopes[i]
        length, new, drop = min(level, (radius - used) / growth), -1, -1
        for i in range(m):
            if alpha[i] * slopes[i] < 0 and -alpha[i] / slopes[i] < length:
                length, drop = -alpha[i] / slopes[i], i
        falls[:] = 0
        for i in range(m):
            for j in range(q):
                falls[j] += gram[active[i], j] * slopes[i]
        for j in range(q):
            if not barred[j]:
                if corr[j] > falls[j] * level:  # where ±corr_j meets the common level
                    meet = (level - corr[j]) / max(1 - falls[j], TINY)
                else:
                    meet = (level + corr[j]) / max(1 + falls[j], TINY)
                if meet < length:
                    length, new, drop = max(meet, 0.0), j, -1
        for i in range(m):
            alpha[i] += length * slopes[i]
        used += length * growth
        if new < 0 and drop < 0:
            break
        level -= length
        for j in range(q):
            corr[j] -= length * falls[j]
        if drop >= 0:
            gone = active[drop]
            for i in range(drop, m - 1):
                active[i], alpha[i], signs[i] = active[i + 1], alpha[i + 1], signs[i + 1]
            kept, m = m - 1, 0
            while m < kept and _append(chol, m, gram, active, active[m]):
                m += 1
            for j in range(q):  # atoms once found dependent may be needed now
                barred[j] = gram[j, j] <= TINY
            for i in range(m):
                barred[active[i]] = True
            barred[gone] = False
    return m


@kernel
def _workspace(gram, n_features):
    q = gram.shape[0]
    most = min(q, n_features)
    return (
        np.empty(most, np.int64),
        np.empty(most),
        np.empty((2, most)),
        np.empty((most, most)),
        np.empty(q, np.bool_),
        np.empty(q),
        np.empty(q),
    )


@kernel
def l1_ball_codes(gram, correlations, n_features, radius):
    """Dense codes (n, q) of all samples from their correlations (n, q) with the atoms."""
    out = np.zeros(correlations.shape)
    active, alpha, work, chol, barred, falls, corr = _workspace(gram, n_features)
    for i in range(correlations.shape[0]):
        corr[:] = correlations[i]
        m = l1_ball_code(gram, corr, radius, active, alpha, work, chol, barred, falls)
        for a in range(m):
            out[i, active[a]] = alpha[a]
    return out


@kernel
def accumulate(samples, gram, correlations, radius, losses):
    """Σ ααᵀ and Σ αyᵀ over samples coded on the present atoms; `losses` gets ½‖y − Dᵀα‖² of each."""
    q, n_features = gram.shape[0], samples.shape[1]
    code_products, code_samples = np.zeros((q, q)), np.zeros((q, n_features))
    active, alpha, work, chol, barred, falls, corr = _workspace(gram, n_features)
    for i in range(samples.shape[0]):
        energy = 0.0
        for d in range(n_features):
            energy += samples[i, d] * samples[i, d]
        corr[:] = correlations[i]
        m = l1_ball_code(gram, corr, radius, active, alpha, work, chol, barred, falls)
        loss = 0.5 * energy
        for a in range(m):
            atom = active[a]
            loss -= alpha[a] * correlations[i, atom]
            for b in range(m):
                code_products[atom, active[b]] += alpha[a] * alpha[b]
                loss += 0.5 * alpha[a] * alpha[b] * gram[atom, active[b]]
            for d in range(n_features):
                code_samples[atom, d] += alpha[a] * samples[i, d]
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
