"""min_x ½ xᵀGx − bᵀx + λ‖x‖₁ for many b, one Gram matrix G and one λ; with b = Dy it is the lasso of y."""

import numpy as np

from ddlcn.kernels.compiled import kernel
from ddlcn_lab.kernels.lasso import weighted_lasso


@kernel
def lasso_codes(gram, correlations, penalty, most):
    """Dense codes (n, q) from correlations (n, q); the path of a code stops at `most` atoms."""
    codes, corr = np.zeros(correlations.shape), np.empty(len(gram))
    active, alpha = np.empty(min(most, len(gram)), np.int64), np.empty(min(most, len(gram)))
    for n in range(len(correlations)):
        corr[:] = correlations[n]
        m = weighted_lasso(gram, corr, np.ones(len(gram)), penalty, active, alpha)
        for i in range(m):
            codes[n, active[i]] = alpha[i]
    return codes
