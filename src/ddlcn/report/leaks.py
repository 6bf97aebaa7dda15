"""Likely duplicates between training and test images, which would flatter the accuracy.

Each image becomes a fingerprint, its grey pixels at 32 × 32 with mean 0 and length 1; two that are almost
parallel show the same picture, whatever its size, brightness or file format. It costs one decoding an image.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from ddlcn.classifier import DDLCNClassifier
from ddlcn.images import ImageSet
from ddlcn.progress import track
from ddlcn.report.pixels import original

_SIDE, _ALIKE = 32, 0.999
_FLAT = 1e-3  # contrast below which a picture shows nothing to compare
_BLOCK = 1024  # test images compared at a time


class Leak(NamedTuple):
    """A test image and the training image most like it: likeness 1 and `exact` if every pixel agrees."""

    test: int
    train: int
    likeness: float
    exact: bool


def find_leaks(model: DDLCNClassifier, train: ImageSet, test: ImageSet, alike: float = _ALIKE) -> list[Leak]:
    """Test images that were probably seen in training, most alike first."""
    (known, known_digests), (asked, asked_digests) = (_fingerprints(model, part) for part in (train, test))
    first_with = {digest: row for row, digest in reversed(list(enumerate(known_digests)))}
    leaks = [Leak(i, first_with[d], 1.0, True) for i, d in enumerate(asked_digests) if d in first_with]
    exact = {leak.test for leak in leaks}
    for start in range(0, len(asked), _BLOCK):
        likeness = asked[start : start + _BLOCK] @ known.T
        for row in np.flatnonzero(likeness.max(axis=1) >= alike):
            if start + row not in exact:
                best = int(likeness[row].argmax())
                leaks.append(Leak(start + int(row), best, min(1.0, float(likeness[row, best])), False))
    return sorted(leaks, key=lambda leak: (not leak.exact, -leak.likeness, leak.test))


def _fingerprints(model: DDLCNClassifier, part: ImageSet) -> tuple[np.ndarray, list[bytes]]:
    look = delayed(_fingerprint)
    jobs = Parallel(n_jobs=model.n_jobs, prefer="threads", return_as="generator", batch_size=16)
    found = list(track("Duplicates", jobs(look(model, image) for image in part.images), total=len(part)))
    return np.array([values for values, _ in found]), [digest for _, digest in found]


def _fingerprint(model: DDLCNClassifier, image: Any) -> tuple[np.ndarray, bytes]:
    grey = original(model, image)
    digest = blake2b(grey.tobytes() + str(grey.shape).encode(), digest_size=16).digest()
    small = np.asarray(Image.fromarray(grey).resize((_SIDE, _SIDE), Image.Resampling.BOX)).ravel()
    small = small - small.mean()
    length = float(np.linalg.norm(small))
    return (small / length if length > _FLAT * _SIDE else np.zeros_like(small)), digest
