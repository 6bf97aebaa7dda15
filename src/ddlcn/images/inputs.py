"""What users give as images: checked, and told apart by content."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ddlcn.errors import DDLCNError, ImageError
from ddlcn.images.decode import as_array, naming, open_image


def as_images(X: Any) -> Any:
    """Return images as something to count and index.

    Parameters
    ----------
    X : sequence of paths or arrays, or an array of shape (n, h, w) or (n, h, w, channels)

    Returns
    -------
    ndarray or list

    Raises
    ------
    DDLCNError
        If `X` is one image, a matrix, or empty.

    Examples
    --------
    >>> as_images(("a.png", "b.png"))
    ['a.png', 'b.png']
    >>> as_images(np.zeros((50, 40, 3)))
    Traceback (most recent call last):
    ...
    ddlcn.errors.DDLCNError: an array of shape (50, 40, 3) is one image: give a list of images, as in [image]
    """
    remedy, ndim = "give a list of images, as in [image]", X.ndim if isinstance(X, np.ndarray) else None
    if isinstance(X, str | os.PathLike):
        raise DDLCNError(f"{str(X)!r} is one path: {remedy}")
    if ndim == 2:
        other = "set image_shape=(height, width) if each row is one"
        raise DDLCNError(f"a matrix of shape {X.shape}: {remedy}, or {other}")
    if ndim == 3 and X.shape[2] in (3, 4):
        raise DDLCNError(f"an array of shape {X.shape} is one image: {remedy}")
    if ndim == 0 or not hasattr(X, "__iter__"):
        raise DDLCNError(f"a single {type(X).__name__}: {remedy}")
    images = list(X) if ndim is None or X.dtype == object else X
    if not len(images):
        raise DDLCNError("no images: give at least one")
    return images


def take(images: Any, rows: np.ndarray) -> Any:
    """Return the images of some rows.

    Parameters
    ----------
    images : sequence of paths or arrays
    rows : array of int

    Returns
    -------
    ndarray or list
    """
    return images[rows] if isinstance(images, np.ndarray) else [images[row] for row in rows]


def absolute(images: Sequence[Any]) -> Sequence[Any]:
    """Return images with paths that any process finds.

    Parameters
    ----------
    images : sequence of paths or arrays

    Returns
    -------
    ndarray or list
        Paths are absolute.
    """
    if isinstance(images, np.ndarray) and images.dtype.kind not in "US":
        return images
    return [Path(os.path.abspath(each)) if isinstance(each, str | os.PathLike) else each for each in images]


def content_digest(image: Any) -> bytes:
    """Return a digest of the bytes of a file, or of the type, shape and pixels of an array.

    Raises
    ------
    ImageError
        If a file can't be read.
    """
    if isinstance(image, str | os.PathLike):
        with naming(repr(os.fspath(image))), open_image(image) as file:
            return hashlib.file_digest(file, "sha256").digest()
    pixels = as_array(image)
    if pixels.dtype.hasobject:
        raise ImageError(f"{type(image).__name__} is no image; give a path or an array")
    header = f"{pixels.dtype.str} {pixels.shape};".encode()
    return hashlib.sha256(header + np.ascontiguousarray(pixels).tobytes()).digest()


def canonical_order(images: Sequence[Any], y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return an order of images that does not depend on the order in which they are given.

    Parameters
    ----------
    images : sequence of paths or arrays
    y : array of int
    weights : array

    Returns
    -------
    array of int
        Rows sorted by label, then by digest of content, then by weight.
    """
    digests = np.array([content_digest(image) for image in images], dtype="S32")
    return np.lexsort((weights, digests, y))
