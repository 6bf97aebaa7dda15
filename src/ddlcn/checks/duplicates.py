"""Images that show the same picture, found by their fingerprints.

Similarity is the cosine of two fingerprints. If it is at least s, the distance of the two is at most √(2 − 2s), also
between their lowest spatial frequencies alone; so a tree over these few numbers finds all candidates quickly, and
only candidates are compared in full.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import dct
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from ddlcn.checks.facts import SIDE, ImageFacts

SIMILAR = 0.999  # from which on two images are duplicates
_SEARCHED = 0.99  # lower similarities count as 0
_MOST = 16  # candidates per image
_FREQUENCIES = 5  # in each direction
_BLOCK = 4096  # pairs that are compared at a time


class Pairs(NamedTuple):
    """Pairs of similar images: `first[i]` of some images and `second[i]` of others."""

    first: np.ndarray
    second: np.ndarray
    similarity: np.ndarray


class Duplicates(NamedTuple):
    """Groups of images that show the same picture.

    `score` is the similarity to the most similar other image (0 if below 0.99); `group` the number of an image's
    group, from 1, or 0 if it has no duplicate; `is_exact` whether another image has the same pixels.
    """

    score: np.ndarray
    group: np.ndarray
    is_exact: np.ndarray

    def members(self) -> list[np.ndarray]:
        """Return the rows of each group, in order of its number."""
        order = np.argsort(self.group, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.group))[:-1])[1:]


def similar_pairs(first: np.ndarray, second: np.ndarray, similar: float = SIMILAR, flip: bool = False) -> Pairs:
    """Find pairs of similar fingerprints.

    Parameters
    ----------
    first, second : arrays of shape (n_images, 1024)
    similar : float
        The least cosine.
    flip : bool
        Compare with the mirror image of `second`.

    Returns
    -------
    Pairs
        The 16 nearest of `second` for each of `first`, at most.
    """
    if flip:
        second = second.reshape(-1, SIDE, SIDE)[:, :, ::-1].reshape(len(second), -1)
    rows, others = (np.flatnonzero(each.any(axis=1)) for each in (first, second))  # uniform images have none
    if not len(rows) or not len(others):
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    radius = np.sqrt(2 * (1 - similar)) + 1e-4  # rounding
    ranks = np.arange(1, min(_MOST, len(others)) + 1)
    tree = KDTree(_low_frequencies(second[others]))
    near = np.asarray(tree.query(_low_frequencies(first[rows]), ranks, distance_upper_bound=radius)[1])
    at, rank = np.nonzero(near < len(others))
    pairs = rows[at], others[near[at, rank]]
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(at), _BLOCK)]
    cosines = [np.einsum("ij,ij->i", first[pairs[0][own]], second[pairs[1][own]]) for own in blocks]
    similarity = np.concatenate([np.empty(0), *cosines]).clip(max=1)
    kept = similarity >= similar
    return Pairs(pairs[0][kept], pairs[1][kept], similarity[kept])


def find_duplicates(facts: ImageFacts, similar: float = SIMILAR) -> Duplicates:
    """Find images that show the same picture, also as a mirror image.

    Parameters
    ----------
    facts : ImageFacts
    similar : float
        Cosine of two fingerprints from which images are duplicates.

    Returns
    -------
    Duplicates

    Examples
    --------
    >>> from ddlcn.checks.facts import image_facts
    >>> one, other = np.random.default_rng(0).integers(0, 255, (2, 8, 8), np.uint8)
    >>> find_duplicates(image_facts([one, other, one[:, ::-1], one])).group.tolist()
    [1, 0, 1, 1]
    """
    n = len(facts.digests)
    _, kinds, counts = np.unique(facts.digests, return_inverse=True, return_counts=True)
    representative = np.full(len(counts), n)
    np.minimum.at(representative, kinds, np.arange(n))  # many equal images would hide others from the search
    prints = facts.fingerprints[representative]
    found = [similar_pairs(prints, prints, _SEARCHED, flip) for flip in (False, True)]
    first, second, similarity = (np.concatenate(each) for each in zip(*found, strict=True))
    others = first != second
    first, second, similarity = first[others], second[others], similarity[others]
    score = np.where(counts > 1, 1.0, 0.0)
    for rows in (first, second):
        np.maximum.at(score, rows, similarity)
    near = similarity >= similar
    edges = coo_array((np.ones(near.sum()), (first[near], second[near])), shape=(len(counts), len(counts)))
    component = connected_components(edges, directed=False)[1][kinds]
    sizes = np.bincount(component)
    several = np.flatnonzero(sizes[component] > 1)
    group = np.zeros(n, np.intp)
    group[several] = _numbered(component[several])
    return Duplicates(score[kinds], group, counts[kinds] > 1)


def _numbered(values: np.ndarray) -> np.ndarray:
    """Numbers from 1 for different values, in the order in which they first occur."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return (first.argsort().argsort() + 1)[inverse]


def _low_frequencies(fingerprints: np.ndarray) -> np.ndarray:
    basis = dct(np.eye(SIDE, dtype=np.float32), axis=0, norm="ortho")[:_FREQUENCIES]
    planes = basis @ fingerprints.reshape(-1, SIDE, SIDE) @ basis.T
    return planes.reshape(len(planes), -1)[:, 1:]  # the mean is 0
