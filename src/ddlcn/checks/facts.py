"""What can be said of an image without a model: its fingerprint, digest and contrast, and whether it has colour.

The fingerprint is the grey image at 32 × 32 pixels, with mean 0 and length 1. Two that are almost parallel show the
same picture, whatever its size, brightness or file format. Each image is decoded once.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from ddlcn.descriptors.color import has_color
from ddlcn.execution.progress import track
from ddlcn.images import DecodedImage

SIDE = 32  # of fingerprints
_FLAT = 1e-3  # contrast below which an image has nothing to compare


class ImageFacts(NamedTuple):
    """Facts about images, a row each; the fingerprint of a uniform image is zero."""

    fingerprints: np.ndarray  # (n_images, 32 · 32)
    digests: np.ndarray  # equal if every pixel is
    contrasts: np.ndarray  # standard deviation of grey at 32 × 32, where white is 1
    colored: np.ndarray


def image_facts(
    images: Sequence[Any] | np.ndarray,
    value_range: tuple[float, float] = (0.0, 1.0),
    n_jobs: int | None = None,
    stage: str = "Examining",
) -> ImageFacts:
    """Decode images and examine each.

    Parameters
    ----------
    images : sequence of paths or arrays
    value_range : (low, high)
        The black and the white of arrays; see `ddlcn.images.value_range`.
    n_jobs : int or None
        Threads.
    stage : str
        Its name in progress bars.

    Returns
    -------
    ImageFacts

    Examples
    --------
    >>> grey, red = np.full((8, 8, 3), 90, np.uint8), np.full((8, 8, 3), [200, 0, 0], np.uint8)
    >>> facts = image_facts([grey, red, red])
    >>> facts.colored.tolist(), facts.contrasts.round(3).tolist(), bool(facts.digests[1] == facts.digests[2])
    ([False, True, True], [0.0, 0.0, 0.0], True)
    """
    jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=16)
    results = jobs(delayed(_facts)(image, value_range) for image in images)
    found = list(track(stage, results, total=len(images)))
    prints, digests, contrasts, colored = zip(*found, strict=True)
    return ImageFacts(np.array(prints), np.array(digests), np.array(contrasts), np.array(colored))


def _facts(image: Any, value_range: tuple[float, float]) -> tuple[np.ndarray, str, float, bool]:
    decoded = DecodedImage(image, value_range)
    grey, rgb = decoded.grey(), decoded.rgb()
    digest = blake2b(grey.tobytes() + rgb.tobytes() + str(grey.shape).encode(), digest_size=16).hexdigest()
    small = np.asarray(Image.fromarray(grey).resize((SIDE, SIDE), Image.Resampling.BOX)).ravel()
    small = small - small.mean()
    contrast = float(np.sqrt(np.mean(small**2)))
    values = small / (SIDE * contrast) if contrast > _FLAT else np.zeros_like(small)
    return values, digest, contrast, has_color(rgb)
