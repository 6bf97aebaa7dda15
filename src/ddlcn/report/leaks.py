"""Likely duplicates between training and test images, which inflate the accuracy.

Each image has a fingerprint: its grey pixels at 32 × 32, with mean 0 and length 1. Two that are almost parallel show
the same picture, whatever its size, brightness or file format. Each image is decoded once.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from ddlcn.classifier import DDLCNClassifier
from ddlcn.execution.progress import track
from ddlcn.images import ImageSet
from ddlcn.report.pixels import read_original

_SIDE, _SIMILAR = 32, 0.999
_FLAT = 1e-3  # contrast below which an image has nothing to compare
_BLOCK = 1024  # test images that are compared at a time


class Leak(NamedTuple):
    """A test image and the training image most similar to it; `exact` if every pixel is the same."""

    test: int
    train: int
    similarity: float
    exact: bool


def find_leaks(model: DDLCNClassifier, train: ImageSet, test: ImageSet, similar: float = _SIMILAR) -> list[Leak]:
    """Find test images that are probably training images too.

    Parameters
    ----------
    model : DDLCNClassifier
        Says how arrays become images.
    train, test : ImageSet
    similar : float
        Cosine of two fingerprints from which images are duplicates.

    Returns
    -------
    list of Leak
        Exact ones first, then the most similar.
    """
    (known, known_digests), (tested, digests) = (_fingerprints(model, part) for part in (train, test))
    first_with = {digest: row for row, digest in reversed(list(enumerate(known_digests)))}
    leaks = [Leak(i, first_with[d], 1.0, True) for i, d in enumerate(digests) if d in first_with]
    exact = {leak.test for leak in leaks}
    for start in range(0, len(tested), _BLOCK):
        similarity = tested[start : start + _BLOCK] @ known.T
        for row in np.flatnonzero(similarity.max(axis=1) >= similar):
            if start + row not in exact:
                best = int(similarity[row].argmax())
                leaks.append(Leak(start + int(row), best, min(1.0, float(similarity[row, best])), False))
    return sorted(leaks, key=lambda leak: (not leak.exact, -leak.similarity, leak.test))


def _fingerprints(model: DDLCNClassifier, part: ImageSet) -> tuple[np.ndarray, list[bytes]]:
    jobs = Parallel(n_jobs=model.n_jobs, prefer="threads", return_as="generator", batch_size=16)
    results = jobs(delayed(_fingerprint)(model, image) for image in part.images)
    found = list(track("Duplicates", results, total=len(part)))
    return np.array([values for values, _ in found]), [digest for _, digest in found]


def _fingerprint(model: DDLCNClassifier, image: Any) -> tuple[np.ndarray, bytes]:
    grey = read_original(model, image)
    digest = blake2b(grey.tobytes() + str(grey.shape).encode(), digest_size=16).digest()
    small = np.asarray(Image.fromarray(grey).resize((_SIDE, _SIDE), Image.Resampling.BOX)).ravel()
    small = small - small.mean()
    length = float(np.linalg.norm(small))
    return (small / length if length > _FLAT * _SIDE else np.zeros_like(small)), digest
