"""Likely duplicates between training and test images, which inflate the accuracy.

Each image has a fingerprint: its grey pixels at 32 × 32, with mean 0 and length 1. Two that are almost parallel show
the same picture, whatever its size, brightness or file format. Large JPEGs are shrunk while they are decoded; only
images that look the same are compared pixel by pixel.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from ddlcn.classifier import DDLCNClassifier
from ddlcn.execution.progress import track
from ddlcn.images import ImageSet
from ddlcn.report.pixels import read_original, read_small

_SIDE, _SIMILAR = 32, 0.999
_DECODED = 8 * _SIDE  # pixels that a shrunk JPEG keeps per side: with fewer, it differs from the whole image
_TIES, _CLOSE = 8, 1e-5  # training images about as similar as the most similar one, compared pixel by pixel
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
    leaks = []
    for start in range(0, len(tested), _BLOCK):
        block = tested[start : start + _BLOCK] @ known.T
        for i, similarity in enumerate(block, start):
            best = int(similarity.argmax())
            near = np.flatnonzero(similarity >= max(similar, similarity[best] - _CLOSE))
            rows = [first_with[digests[i]]] if digests[i] in first_with else []
            rows += near[:_TIES].tolist()
            same = next((row for row in rows if _same_pixels(model, train.images[row], test.images[i])), None)
            if same is not None:
                leaks.append(Leak(i, same, 1.0, True))
            elif len(near):
                leaks.append(Leak(i, best, min(1.0, float(similarity[best])), False))
    return sorted(leaks, key=lambda leak: (not leak.exact, -leak.similarity, leak.test))


def _fingerprints(model: DDLCNClassifier, part: ImageSet) -> tuple[np.ndarray, list[bytes]]:
    jobs = Parallel(n_jobs=model.n_jobs, prefer="threads", return_as="generator", batch_size=16)
    results = jobs(delayed(_fingerprint)(model, image) for image in part.images)
    found = list(track("Duplicates", results, total=len(part)))
    return np.array([values for values, _ in found]), [digest for _, digest in found]


def _fingerprint(model: DDLCNClassifier, image: Any) -> tuple[np.ndarray, bytes]:
    grey = read_small(model, image, _DECODED)
    small = np.asarray(Image.fromarray(grey).resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)).ravel()
    digest = blake2b(small.tobytes() + str(grey.shape).encode(), digest_size=16).digest()
    small = small - small.mean()
    length = float(np.linalg.norm(small))
    return (small / length if length > _FLAT * _SIDE else np.zeros_like(small)), digest


def _same_pixels(model: DDLCNClassifier, one: Any, other: Any) -> bool:
    return np.array_equal(read_original(model, one), read_original(model, other))
