"""Gibbs draws of sparse codes a = z·s over given atoms, z Bernoulli and s Gaussian."""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def draw_codes(gram, correlations, odds, noise, spread, logistic, normal, codes):
    """Draw codes (n, q) in place, entry by entry, each given the rest of its row; s is integrated out of z.

    Row i has precision noise[i] of its residual and spread[i] of its weights, and log prior odds[i] that an
    atom is used; `logistic` and `normal` hold a standard draw for each entry.
    """
    for i in range(len(codes)):
        code, left = codes[i], correlations[i].copy()  # left = D(y − aD)
        for k in range(len(gram)):
            if code[k] != 0:
                left -= code[k] * gram[k]
        for k in range(len(gram)):
            precision = spread[i] + noise[i] * gram[k, k]
            mean = noise[i] * (left[k] + code[k] * gram[k, k]) / precision
            used = odds[i, k] + 0.5 * (np.log(spread[i] / precision) + precision * mean * mean)
            drawn = mean + normal[i, k] / np.sqrt(precision) if logistic[i, k] < used else 0.0
            if drawn != code[k]:
                left -= (drawn - code[k]) * gram[k]
                code[k] = drawn
