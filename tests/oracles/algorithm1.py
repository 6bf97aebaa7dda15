"""γᵢ(vⱼ) ← [γᵢ(vⱼ), γᵢ(vⱼ)·[γⱼ²(u₁), …, γⱼ²(u_s2)]], each γⱼ²(u_k) itself so augmented by the layer below it.

Algorithm 1 to the letter: s₁(1 + s₂(1 + …)) numbers a cell, pooled by the signed maximum, over their norm.
"""

import numpy as np

from .pyramid import pool


def augmented(codes, tables):
    """Dense codes (n, s₁) and the layers' tables (s₁, s₂), (s₂, s₃), … to (n, s₁(1 + s₂(1 + …)))."""
    if not tables:
        return codes
    below = augmented(tables[0], tables[1:])
    return np.array(
        [np.concatenate([np.r_[g, g * c] for g, c in zip(row, below, strict=True)]) for row in codes]
    )


def image_vector(codes, tables, positions, shape, levels=(1, 2, 4)):
    """One image's feature, cell after cell."""
    vector = pool(augmented(codes, tables), positions, shape, levels)[0].ravel()
    return vector / (np.linalg.norm(vector) or 1)
