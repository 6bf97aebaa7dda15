"""Proximal steps for ½xᵀGx − bᵀx + λ‖x‖₀ on |x_j| ≤ M, entry by entry, each given the rest of its row."""

from ddlcn.kernels.compiled import kernel


@kernel
def sweep_columns(gram, correlations, penalty, largest, codes):
    """One step of each entry of codes (n, q), in place, for correlations b (n, q).

    The entry minimises ½L(x − z)² + λ[x ≠ 0] with z = its value − slope/L, L a little over G_jj.
    """
    for n in range(len(codes)):
        code, left = codes[n], correlations[n].copy()  # left = b − Gx
        for j in range(len(gram)):
            if code[j] != 0:
                left -= code[j] * gram[j]
        for j in range(len(gram)):
            step = 1.01 * gram[j, j] + 1e-12
            z = code[j] + left[j] / step
            moved = min(max(z, -largest), largest)
            if step * moved * (z - 0.5 * moved) <= penalty:
                moved = 0.0
            if moved != code[j]:
                left -= (moved - code[j]) * gram[j]
                code[j] = moved
