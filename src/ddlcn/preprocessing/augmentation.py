"""Augmentation: changed copies of training images, which train the SVM beside them.

A mirrored face is still that face, lit from the other side; a mirrored digit is no digit. So selection compares
policies on held-out training images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import affine_transform, gaussian_filter, map_coordinates

from ddlcn.errors import DDLCNError
from ddlcn.images import DecodedImage

_COPIES = 1000  # each image gets as many copies as lead to this number, but at least one, at most eight
_MOST_PER_IMAGE = 8
_MEASURED, _SMALL = 5, 72  # images that are measured; pixels of the shorter side of a small one
_ELASTIC_FIELDS = 1000
_ELASTIC_SMOOTHNESS = 0.12  # standard deviation of the Gaussian, in shorter sides of the image
_ELASTIC_STRENGTH = 0.022  # root mean square of displacements, in shorter sides of the image


class Augmentation(NamedTuple):
    """One change of an image: a flip, an elastic distortion, or an affine map about its centre; or nothing."""

    flip: bool = False
    elastic: int = 0  # the number of a smooth random displacement field
    down: float = 0.0  # in shorter sides of the image
    right: float = 0.0
    rotation: float = 0.0  # in degrees
    scale: float = 1.0

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Change an image, grey or with colours last; beyond a border the nearest pixel is repeated.

        >>> Augmentation(right=1 / 3).apply(np.eye(3, dtype=np.float32)).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
        """
        if self.flip:
            return np.ascontiguousarray(image[:, ::-1])
        if self == Augmentation():
            return image
        if image.ndim == 3:
            return np.stack([self.apply(plane) for plane in np.moveaxis(image, 2, 0)], axis=2)
        if self.elastic:
            return _elastic(image, self.elastic)
        angle, centre = np.deg2rad(self.rotation), (np.array(image.shape) - 1) / 2
        back = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / self.scale
        shift = centre + min(image.shape) * np.array([self.down, self.right])
        return affine_transform(image, back, centre - back @ shift, order=1, mode="nearest")


def _elastic(grey: np.ndarray, number: int) -> np.ndarray:
    noise = np.random.RandomState(number).standard_normal((2, *grey.shape))
    sigma = _ELASTIC_SMOOTHNESS * min(grey.shape)
    fields = np.stack([gaussian_filter(field, sigma) for field in noise])
    fields -= fields.mean(axis=(1, 2), keepdims=True)
    fields *= _ELASTIC_STRENGTH * min(grey.shape) / max(float(np.sqrt((fields**2).mean())), 1e-12)
    places = np.mgrid[: grey.shape[0], : grey.shape[1]] + fields
    return map_coordinates(grey, places, order=1, mode="nearest")


def _affine(by: float = 1 / 28, rotation: float = 8.0, larger: float = 1.08) -> tuple[Augmentation, ...]:
    """Shifts to each side with a rotation one way; and the other way, larger or smaller."""
    sides = [(0, by, 1), (0, -by, -1), (by, 0, -1), (-by, 0, 1)]
    scales = [larger, 1 / larger, larger, 1 / larger]
    return (
        *(Augmentation(down=down, right=right, rotation=way * rotation) for down, right, way in sides),
        *(
            Augmentation(down=down, right=right, rotation=-way * rotation, scale=scale)
            for (down, right, way), scale in zip(sides, scales, strict=True)
        ),
    )


POLICIES: dict[str, tuple[Augmentation, ...]] = {
    "none": (),
    "affine": _affine(),
    "flip": (Augmentation(flip=True),),
    "elastic": tuple(Augmentation(elastic=n) for n in range(1, _ELASTIC_FIELDS + 1)),
}


def check_policy(policy: str) -> None:
    """Raise if there is no such policy."""
    if policy not in (*POLICIES, "auto"):
        known = ", ".join(map(repr, POLICIES))
        raise DDLCNError(f'augmentation={policy!r}: unknown; choose one of {known} or "auto"')


def suited_policies(
    policies: Sequence[str], deskewed_size: tuple[float, float] | None, images: Sequence[Any]
) -> list[str]:
    """The policies to compare: no flips of deskewed images, such as digits; affine copies of small images only.

    On larger images affine copies take the most time and gain no more than flips; on aligned faces they do harm.

    >>> suited_policies(["none", "flip", "affine"], None, np.zeros((2, 80, 90)))
    ['none', 'flip']
    """
    if deskewed_size is not None:
        return [policy for policy in policies if policy != "flip"]
    some = images[:: -(-len(images) // _MEASURED)] if "affine" in policies else ()
    large = len(some) > 0 and np.median([min(DecodedImage(image, least_side=_SMALL).shape) for image in some]) >= _SMALL
    return [policy for policy in policies if policy != "affine" or not large]


def copies(policy: str, y: np.ndarray, total: int | None = None) -> tuple[np.ndarray, tuple[Augmentation, ...]]:
    """The augmented copies of images of these classes: the image of each copy, and its augmentation.

    The first len(y) copies are one of each image. The augmentations of a policy are dealt in turn within each
    class, so that none marks a class. There are as many copies per image as for a `total` of images (len(y)).

    >>> images, augmentations = copies("flip", np.array([0, 1]))
    >>> images, augmentations == (Augmentation(flip=True), Augmentation(flip=True))
    (array([0, 1]), True)
    """
    augmentations, n_images = POLICIES[policy], len(y)
    per_image = min(len(augmentations), _MOST_PER_IMAGE, max(1, _COPIES // (total or n_images)))
    turn = np.argsort(np.argsort(y, kind="stable"))
    dealt = [(turn + n * len(augmentations) // per_image) % len(augmentations) for n in range(per_image)]
    images = np.tile(np.arange(n_images), per_image)
    return images, tuple(augmentations[number] for number in np.ravel(dealt).astype(int))
