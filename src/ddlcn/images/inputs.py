"""What users give as images: checked, and told apart by content."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from ddlcn.errors import DDLCNError, ImageError
from ddlcn.images.decode import CHANNELS, as_array, is_tensor, naming, open_image


def as_images(X: Any) -> Any:
    """Return images as something to count and index: an array of numbers, or a list of paths, bytes and arrays.

    Parameters
    ----------
    X : sequence of images, array of shape (n, h, w) or (n, h, w, channels), tensor (n, channels, h, w), or ImageSet
        An image is a path, an array, a Pillow image, a torch tensor, or a file as bytes or open for reading.

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
    remedy = "give a list of images, as in [image]"
    X = X.images if hasattr(X, "images") and hasattr(X, "target") else X  # an ImageSet, or a data set of scikit-learn
    if isinstance(X, str | os.PathLike):
        raise DDLCNError(f"{str(X)!r} is one path: {remedy}")
    if hasattr(X, "columns") or isinstance(X, dict):
        raise DDLCNError(f"a {type(X).__name__} has columns: give the one with the images, as in X['path']")
    X = _of_tensor(X, remedy) if is_tensor(X) else X
    ndim = X.ndim if isinstance(X, np.ndarray) else None
    if ndim == 2:
        other = "set image_shape=(height, width) if each row is one"
        raise DDLCNError(f"a matrix of shape {X.shape}: {remedy}, or {other}")
    if ndim == 3 and X.shape[2] in (3, 4):
        raise DDLCNError(f"an array of shape {X.shape} is one image: {remedy}")
    if ndim == 4 and X.shape[1] in CHANNELS and X.shape[3] not in CHANNELS:
        raise DDLCNError(f"an array of shape {X.shape} has its channels first: use numpy.moveaxis(X, 1, -1)")
    if ndim == 0 or not hasattr(X, "__iter__") or isinstance(X, bytes | bytearray) or hasattr(X, "read"):
        raise DDLCNError(f"a single {type(X).__name__}: {remedy}")
    images = [_image(each, n) for n, each in enumerate(X)] if ndim is None or X.dtype == object else X
    if not len(images):
        raise DDLCNError("no images: give at least one")
    return images


def _of_tensor(X: Any, remedy: str) -> np.ndarray:
    """A stack of images from a tensor, whose channels come before height and width."""
    if X.ndim == 3 and X.shape[0] in CHANNELS:
        raise DDLCNError(f"a tensor of shape {tuple(X.shape)} is one image: {remedy}")
    stack = X.detach().cpu().numpy()
    return np.moveaxis(stack, 1, -1) if stack.ndim == 4 else stack


def _image(image: Any, number: int) -> Any:
    """One image as a path, bytes or an array; what has to be an array is left to those who read it."""
    if isinstance(image, bytearray | memoryview):
        return bytes(image)
    if hasattr(image, "read") and hasattr(image, "seek"):
        image.seek(0)
        content = image.read()
        if not isinstance(content, bytes):
            raise DDLCNError(f"image number {number} is a file that is open as text: open it with mode 'rb'")
        return content
    if image is None or isinstance(image, int | float | np.number):
        raise DDLCNError(f"image number {number} is {image!r}: give a path or an image, or leave it out")
    return as_array(image) if isinstance(image, Image) or is_tensor(image) else image


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
    """Return a digest of the bytes of a file, or of the type, shape and pixels of anything else.

    Raises
    ------
    ImageError
        If a file can't be read.
    """
    if isinstance(image, str | os.PathLike):
        with naming(repr(os.fspath(image))), open_image(image) as file:
            return hashlib.file_digest(file, "sha256").digest()
    if isinstance(image, bytes):
        return hashlib.sha256(image).digest()
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
