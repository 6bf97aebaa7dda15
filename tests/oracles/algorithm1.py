"""γᵢ(vⱼ) ← [γᵢ(vⱼ), γᵢ(vⱼ)·[γⱼ²(u₁), …, γⱼ²(u_s2)]], each γⱼ²(u_k) itself so augmented by the layer below it.

Algorithm 1 to the letter: s₁(1 + s₂(1 + …)) numbers per cell, pooled by the signed maximum, over their norm.
"""

from itertools import pairwise

import numpy as np

from .locality import dense
from .pyramid import pool


def augmented(codes, tables):
    """Dense codes (n, s₁) and the layers' tables (s₁, s₂), (s₂, s₃), … to (n, s₁(1 + s₂(1 + …)))."""
    if not tables:
        return codes
    below = augmented(tables[0], tables[1:])
    return np.array([np.concatenate([np.r_[g, g * c] for g, c in zip(row, below, strict=True)]) for row in codes])


def image_vector(codes, tables, positions, shape, levels=(1, 2, 4), minima=False):
    """The feature of one image, cell after cell; with minima, −γ is pooled beside what Algorithm 1 has."""
    long = augmented(codes, tables)
    vector = pool(np.c_[long, -codes] if minima else long, positions, shape, levels)[0].ravel()
    return vector / (np.linalg.norm(vector) or 1)


def channel_vectors(channel, images):
    """The literal vectors of images that were described, by a channel's coders and dictionaries."""
    deeper = channel.deeper_coder
    pairs = pairwise(channel.dictionaries) if deeper else ()
    tables = [dense(*deeper.encode(items, atoms), len(atoms)) for items, atoms in pairs]
    vectors = []
    for image in images:
        gamma = dense(*channel.coder.encode(image.values, channel.dictionaries[0]), len(channel.dictionaries[0]))
        gamma = np.sign(gamma) * np.abs(gamma) ** channel.power
        pooling = channel.pooling
        vectors.append(image_vector(gamma, tables, image.positions, image.shape, pooling.levels, pooling.minima))
    return np.array(vectors)
