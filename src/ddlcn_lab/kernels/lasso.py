"""min_α ½‖y − Dᵀα‖² + λ Σ_j w_j|α_j|, along its path from α = 0 and stopped once enough atoms are active.

Homotopy (LARS): active atoms keep |c_j| / w_j at a common, falling level, where c = D(y − Dᵀα). The path ends
at level λ, or where an atom more than `most` would enter; the code there solves the problem for a larger λ.
"""

import numpy as np

from ddlcn.kernels.cholesky import append, backward, forward
from ddlcn.kernels.compiled import kernel, part

TINY = 1e-12


@part
def weighted_lasso(gram, corr, weights, penalty, active, alpha):
    """Code of one sample in `active[:m]` and `alpha[:m]`; returns m. `corr` = D y ends as the residual's."""
    q, most = corr.size, active.size
    chol, inverse, slopes, falls = np.empty((most, most)), np.empty(most), np.empty(most), np.empty(q)
    inside = np.zeros(q, np.bool_)
    m, new, level, left = 0, -1, penalty, 10 * most  # steps; bounded against cycling on ties
    for j in range(q):
        if abs(corr[j]) > level * weights[j]:
            new, level = j, abs(corr[j]) / weights[j]
    while new >= 0 and m < most:
        active[m], alpha[m], inside[new] = new, 0.0, True  # an atom that depends on others stays barred
        m += _extend(m, gram, active, chol, inverse)
        new = -1
        while new < 0 and m > 0 and level > penalty + TINY and left > 0:  # atoms leave until one enters
            left -= 1
            for i in range(m):  # G_AA · slopes = sign(c_A) · w_A: every active |c_j| / w_j falls at rate 1
                forward(i, np.sign(corr[active[i]]) * weights[active[i]], chol, inverse, slopes)
            backward(m, chol, inverse, slopes)
            falls[:] = 0
            for i in range(m):
                row = gram[active[i]]
                for j in range(q):
                    falls[j] += row[j] * slopes[i]
            length, drop = level - penalty, -1
            for i in range(m):
                if alpha[i] * slopes[i] < 0 and -alpha[i] / slopes[i] < length:
                    length, drop = -alpha[i] / slopes[i], i
            for j in range(q):
                if not inside[j]:  # where ±c_j, falling at its own rate, meets w_j times the common level
                    up = max(weights[j] * level - corr[j], 0.0)
                    down = max(weights[j] * level + corr[j], 0.0)
                    if up < length * (weights[j] - falls[j]):
                        length, new, drop = up / (weights[j] - falls[j]), j, -1
                    if down < length * (weights[j] + falls[j]):
                        length, new, drop = down / (weights[j] + falls[j]), j, -1
            for i in range(m):
                alpha[i] += length * slopes[i]
            for j in range(q):
                corr[j] -= length * falls[j]
            level -= length
            if drop >= 0:
                inside[active[drop]] = False
                for i in range(drop, m - 1):
                    active[i], alpha[i] = active[i + 1], alpha[i + 1]
                m -= 1
                for i in range(m):
                    _extend(i, gram, active, chol, inverse)
            elif new < 0:
                break
    return m


@part
def _extend(m, gram, active, chol, inverse):
    """Factor row m of the active Gram block; False if atom m depends on those before."""
    for i in range(m):
        chol[m, i] = gram[active[i], active[m]]
    least = 1e-9 * gram[active[m], active[m]]
    append(m, gram[active[m], active[m]], least, chol, inverse)
    return inverse[m] * inverse[m] * least < 1


@kernel
def released_codes(Y, atoms, gram, correlations, penalty, indices, values):
    """Codes with the authors' weights: 10/ζ_j on the k nearest atoms, else 0.01; ζ_j² = Σ(y − v_j)⁴.

    The non-zeros in index order, then the first unused atoms at zero, k in all.
    """
    q, k = len(atoms), indices.shape[1]
    zeta, weights, corr = np.empty(q, np.float32), np.empty(q), np.empty(q)
    active, alpha = np.empty(k, np.int64), np.empty(k)
    for n in range(len(Y)):
        for j in range(q):
            total = np.float32(0)
            for d in range(Y.shape[1]):
                square = (Y[n, d] - atoms[j, d]) * (Y[n, d] - atoms[j, d])
                total += square * square
            zeta[j] = np.sqrt(total)
        weights[:] = 0.01
        for j in np.argpartition(zeta, k - 1)[:k]:
            weights[j] = 10 / max(zeta[j], TINY)
        corr[:] = correlations[n]
        m = weighted_lasso(gram, corr, weights, penalty, active, alpha)
        unused = 0
        for i in range(k):
            if i < m:
                place = 0  # rank of the atom's index
                for other in range(m):
                    place += active[other] < active[i]
                indices[n, place], values[n, place] = active[i], alpha[i]
            else:
                while (active[:m] == unused).any():
                    unused += 1
                indices[n, i], values[n, i] = unused, 0
                unused += 1
