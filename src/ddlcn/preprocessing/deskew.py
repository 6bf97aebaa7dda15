"""Deskewing: a foreground on a uniform background is sheared, centred and scaled by its moments.

With mass m = abs(grey − background) at row r and column c, and moments about its centre, the affine map that

    shears by          Cov(r, c) / Var(r)              so that rows and columns are no longer correlated
    scales rows by     √Var(r) / wanted height
    scales columns by  (√Var(c − shear·r) / wanted width)^½    half of the correction: a 1 stays narrower than a 0

gives the place in the image where each pixel of the deskewed one is read. Without a uniform background the moments
say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.ndimage import affine_transform

_UNIFORM = 0.1  # of an image's range: the border of a uniform background varies by no more
_OTHERS = 0.1  # share of images that may have another background
_LARGEST_SCALE = 2.0  # by which a foreground is enlarged or shrunk
_FILLED = 5 / 6  # of the shorter side, by a deskewed foreground
_ENLARGED = 1.25  # at most, to fill it
_SMALLEST = 1e-3  # shorter sides: less is a line without a width, but for rounding
_MEASURED = 300  # pixels: sides of images that are measured


class Foreground(NamedTuple):
    """Centre, shear, and standard deviations after shearing, in pixels."""

    row: float
    column: float
    shear: float
    height: float
    width: float


def background(grey: np.ndarray) -> float:
    """The median of the grey values at the border."""
    border = _border(grey)
    return float(np.partition(border, border.size // 2)[border.size // 2])


def has_uniform_background(grey: np.ndarray) -> bool:
    """Whether the border of an image has one grey value, or nearly so, and the image has not.

    >>> [has_uniform_background(grey) for grey in (np.pad([[1]], 1), np.eye(4), np.ones((4, 4)))]
    [True, False, False]
    """
    return bool(np.ptp(_border(grey)) <= _UNIFORM * np.ptp(grey) > 0)


def foreground(grey: np.ndarray) -> Foreground | None:
    """The foreground of an image, or None for a blank one.

    >>> foreground(np.eye(3, dtype=np.float32)).shear
    1.0
    """
    mass = np.abs(grey.astype(np.float64) - background(grey))
    total = mass.sum()
    if not total > 0:
        return None
    mass /= total
    rows, columns = (np.arange(side) for side in grey.shape)
    of_rows, of_columns = mass.sum(axis=1), mass.sum(axis=0)
    row, column = float(of_rows @ rows), float(of_columns @ columns)
    row_variance = float(of_rows @ (rows - row) ** 2)
    column_variance = float(of_columns @ (columns - column) ** 2)
    covariance = float((rows - row) @ mass @ (columns - column))
    shear = covariance / row_variance if row_variance > 0 else 0.0
    return Foreground(row, column, shear, sqrt(row_variance), sqrt(max(column_variance - shear * covariance, 0.0)))


def deskewed_size(images: Iterable[np.ndarray], n_images: int) -> tuple[float, float] | None:
    """The height and width that foregrounds are deskewed to: standard deviations, in shorter sides of an image.

    Parameters
    ----------
    images : iterable of 2-D arrays
        Grey images.
    n_images : int
        How many there are.

    Returns
    -------
    (float, float) or None
        None if more than a tenth of the images have no foreground on a uniform background.
    """
    sizes, others = [], 0
    for grey in images:
        found = _relative_size(grey)
        others += found is None
        if others > _OTHERS * n_images:
            return None
        if found is not None:
            sizes.append(found)
    height, width = np.median(sizes, axis=0)
    if not min(height, width) >= _SMALLEST:
        return None
    # a bar of even mass is √12 standard deviations long
    larger = min(max(1.0, _FILLED / (sqrt(12) * max(height, width))), _ENLARGED)
    return float(larger * height), float(larger * width)


def deskew(image: np.ndarray, size: tuple[float, float], grey: np.ndarray | None = None) -> np.ndarray:
    """Shear, centre and scale the foreground of an image.

    Parameters
    ----------
    image : 2-D array, or 3-D with colours last
    size : (float, float)
        Height and width of the foreground (see `deskewed_size`).
    grey : 2-D array, optional
        The image in grey, whose moments are taken; needed for colours, to all of which the same map is applied.

    Returns
    -------
    array of the same shape
    """
    grey = image if grey is None else grey
    found = foreground(grey)
    if found is None:
        return image
    height, width = (min(grey.shape) * side for side in size)
    down = min(max(found.height / height, 1 / _LARGEST_SCALE), _LARGEST_SCALE)
    across = min(max(sqrt(found.width / width), 1 / _LARGEST_SCALE), _LARGEST_SCALE)
    matrix = np.array([[down, 0.0], [found.shear * down, across]])
    offset = np.array([found.row, found.column]) - matrix @ ((np.array(grey.shape) - 1) / 2)
    planes = [image] if image.ndim == 2 else np.moveaxis(image, 2, 0)
    moved = [affine_transform(each, matrix, offset, order=1, cval=background(each)) for each in planes]
    return moved[0] if image.ndim == 2 else np.stack(moved, axis=2)


def _relative_size(grey: np.ndarray) -> tuple[float, float] | None:
    """Height and width of the foreground of an image in its shorter sides; None without a uniform background."""
    factor = -(-max(grey.shape) // _MEASURED)
    grey = grey if factor == 1 else np.asarray(Image.fromarray(grey).reduce(factor))
    found = foreground(grey) if has_uniform_background(grey) else None
    return found and (found.height / min(grey.shape), found.width / min(grey.shape))


def _border(grey: np.ndarray) -> np.ndarray:
    return np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
