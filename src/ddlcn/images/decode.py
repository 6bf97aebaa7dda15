"""Decode an image, whatever it is, to grey in [0, 1]: 0.299 R + 0.587 G + 0.114 B, laid over white.

A file is hostile until decoded. Its first bytes choose a reader from a short list, its header is read within
the limits of :mod:`~ddlcn.images.bombs` before its pixels are touched, and whatever goes wrong is one
:class:`~ddlcn.errors.ImageError`. Readers are called directly, not through ``PIL.Image.open``, so that
neither Pillow's global limit on pixels nor the warnings it raises through process-wide filters play a part:
decoding is the same in every thread.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import ImageOps
from PIL.Image import Image

from ddlcn.errors import ImageError
from ddlcn.images.bombs import MAX_PIXELS
from ddlcn.images.pillow import Lines, pixels_of
from ddlcn.images.readers import KINDS, open_image_file

NOT_FINITE = "has NaN or infinite pixels; replace them with numbers or leave the image out"
LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue in grey
LEAST_SIDE = 700  # pixels per side that a large photograph keeps to be described: over three working sizes
CHANNELS = (1, 3, 4)  # how many an image may have
RAW = (".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".raf", ".rw2", ".pef", ".srw")  # of cameras; never read
BLOCK = 1 << 16  # pixels weighed at a time, which bounds memory
WHITE = {"b1": 1, "u1": 255, "u2": 65535}  # by dtype, whatever its byte order


def read_grey(source: Any, *, value_range: tuple[float, float] = (0.0, 1.0)) -> NDArray[np.float32]:
    """Return an image as a 2-D grey array, float32 in [0, 1].

    Parameters
    ----------
    source : path, bytes, array, Pillow image or torch tensor
        A PNG, JPEG, GIF, BMP, TIFF, PPM, WebP, AVIF or JPEG 2000 file, or HEIC with the extra `heic` (first frame,
        turned by its EXIF tag); the bytes of one; an array: 2-D grey, or 3-D with 1, 3 (RGB) or 4 (RGBA) channels
        last; a tensor has its channels first.
    value_range : (low, high)
        The black and the white of arrays that are not boolean, uint8 or uint16; see :func:`value_range`.
        Pixels outside it land outside [0, 1], unclipped. Files know their own range.

    Returns
    -------
    2-D array, float32

    Raises
    ------
    ImageError
        If it is no image, or can't be read.

    Examples
    --------
    >>> read_grey(np.array([[[255, 0, 0], [255, 255, 255]]], dtype=np.uint8)).round(3).tolist()
    [[0.29899999499320984, 1.0]]
    >>> read_grey(np.array([[0.0, 5.0, 10.0]]), value_range=(0, 10)).tolist()
    [[0.0, 0.5, 1.0]]
    """
    return DecodedImage(source, value_range).grey()


def read_colour(source: Any, *, value_range: tuple[float, float] = (0.0, 1.0)) -> NDArray[np.uint8]:
    """Return an image for people to look at: RGB bytes (h, w, 3), read as :func:`read_grey` reads.

    >>> read_colour(np.array([[[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]])).tolist()
    [[[255, 0, 0], [255, 255, 255]]]
    """
    return DecodedImage(source, value_range).rgb()


def check_image(path: str | os.PathLike[str]) -> str | None:
    """Return why an image file can't be used, or None if it can.

    Every byte is decoded, but large images are shrunk at once, which is several times faster.

    >>> check_image("nowhere.png")
    'does not exist; check the path'
    """
    try:
        with open_image(path) as file:
            decode_file(file, least_side=1)
    except ImageError as error:
        return str(error)
    return None


def value_range(images: Iterable[Any]) -> tuple[float, float]:
    """Return the black and the white of a collection, for :func:`read_grey`.

    Files and boolean, uint8 and uint16 arrays know their own and are ignored. For all others it is (0, 1) if
    no pixel lies outside, else the least and the greatest pixel seen.

    >>> value_range([np.array([[0.0, 16.0]]), np.array([[3.0, 7.0]]), "a.png"])
    (0.0, 16.0)
    >>> value_range([np.array([[0.2, 0.9]])])
    (0.0, 1.0)
    """
    ends = []
    for number, image in enumerate(images):
        if isinstance(image, str | os.PathLike | bytes):
            continue
        pixels = as_array(image)
        if pixels.dtype.str[1:] not in WHITE and pixels.dtype.kind in "iuf" and pixels.size:
            ends += [float(pixels.min()), float(pixels.max())]
            if not np.isfinite(ends[-2:]).all():
                raise ImageError(f"image number {number} {NOT_FINITE}")
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


class DecodedImage:
    """An image that is decoded once, for :func:`read_grey` and :func:`read_colour`; see :func:`decode_file`."""

    def __init__(
        self, source: Any, value_range: tuple[float, float] = (0.0, 1.0), least_side: int | None = None
    ) -> None:
        if isinstance(source, str | os.PathLike):
            self._name = repr(os.fspath(source))
            with naming(self._name), open_image(source) as file:
                self._pixels, self._range = _load(file, least_side=least_side)
        elif isinstance(source, bytes):
            self._name = f"an image of {len(source):,} bytes"
            with naming(self._name):
                self._pixels, self._range = _load(BytesIO(source), least_side=least_side)
        else:
            self._pixels, self._range = as_array(source), value_range
            shape = self._pixels.shape
            self._name = f"array of shape {shape} and dtype {self._pixels.dtype}"
            if not (len(shape) == 2 or (len(shape) == 3 and shape[2] in CHANNELS)):
                first = len(shape) == 3 and shape[0] in CHANNELS
                what = "has its channels first; use numpy.moveaxis(image, 0, -1)" if first else "is no image"
                raise ImageError(f"{self._name} {what}; give 2-D grey, or 3-D with 1, 3 or 4 channels last")

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self._pixels.shape[0], self._pixels.shape[1]

    def grey(self) -> NDArray[np.float32]:
        """Return the image in grey, float32 in [0, 1]."""
        with naming(self._name), _readable():
            return _mixed(self._pixels, self._range)

    def rgb(self) -> NDArray[np.uint8]:
        """Return the image in colour, bytes (h, w, 3)."""
        with naming(self._name), _readable():
            return _mixed(self._pixels, self._range, colour=True)


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Say what an ImageError inside a `with` block is about."""
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{what} {error}") from None


def as_array(source: Any) -> NDArray[Any]:
    """Return what is given as an array, or raise an ImageError."""
    if isinstance(source, Image):
        return _array_of(source)
    if is_tensor(source):
        pixels = source.detach().cpu().numpy()
        return np.moveaxis(pixels, 0, -1) if pixels.ndim == 3 else pixels
    try:
        return np.asarray(source)
    except ValueError:  # rows of unequal length
        raise ImageError(f"{type(source).__name__} is no image; give a path or an array") from None


def is_tensor(source: Any) -> bool:
    """Whether this is a tensor of torch, which need not be installed."""
    return type(source).__module__.partition(".")[0] == "torch" and hasattr(source, "detach")


def _array_of(image: Image) -> NDArray[Any]:
    """A Pillow image as it is seen: turned by its EXIF tag, without palette; wide modes as floats in [0, 1]."""
    with naming(f"a Pillow image of mode {image.mode}"), _readable():
        pixels, (low, high) = pixels_of(ImageOps.exif_transpose(image))
        if isinstance(pixels, Lines):
            return np.asarray(pixels.image)
        wide = pixels.dtype.str[1:] not in WHITE
        return ((pixels - low) / max(high - low, 1e-30)).astype(np.float32) if wide else pixels


def open_image(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file; the message of an ImageError says what is wrong, without its name."""
    if os.path.isdir(path):
        raise ImageError("is a folder; name the images inside it")
    if not os.path.isfile(path):  # a pipe or device could block for ever
        raise ImageError("is no regular file; replace it" if os.path.exists(path) else "does not exist; check the path")
    if os.fspath(path).lower().endswith(RAW):  # many are TIFF files whose only readable image is a thumbnail
        raise ImageError("is a raw file of a camera, which can't be read; save it as JPEG, PNG or TIFF")
    try:
        if not os.path.getsize(path):  # as of what the kernel makes up, such as /proc/kmsg, which may block too
            raise ImageError(f"is empty; {KINDS}")
        return open(path, "rb")
    except OSError as error:
        raise ImageError(f"can't be read ({error.strerror}); check its permissions") from None


def decode_file(
    file: BinaryIO, *, max_pixels: int = MAX_PIXELS, least_side: int | None = None, colour: bool = False
) -> NDArray[Any]:
    """Return the image in an open file (or a `BytesIO`) as :func:`read_grey` or :func:`read_colour` does.

    With `least_side`, an image is shrunk by a whole number, as far as both sides keep so many pixels; a JPEG is already
    decoded at a half, a quarter or an eighth of its size. Images of 16 bits or more stay as they are. The message of an
    ImageError says what is wrong, without its name.
    """
    with _readable():
        return _mixed(*_load(file, max_pixels, least_side), colour)


@contextmanager
def _readable() -> Iterator[None]:
    """Whatever goes wrong inside a `with` block is an ImageError: Pillow's decoders raise almost anything."""
    try:
        yield
    except ImageError:
        raise
    except Exception as error:
        what = " ".join(f"{error or type(error).__name__}".split())
        raise ImageError(f"is damaged or unreadable ({what}); replace it or remove it") from None


def _load(
    file: BinaryIO, max_pixels: int = MAX_PIXELS, least_side: int | None = None
) -> tuple[NDArray[Any] | Lines, tuple[float, float]]:
    """Return the image in an open file as what :func:`_mixed` takes, and its value range."""
    with _readable():
        image = open_image_file(file, max_pixels, least_side)
        image.load()
        with suppress(Exception):  # a damaged EXIF block is no reason to lose the image
            ImageOps.exif_transpose(image, in_place=True)
        pixels, own_range = pixels_of(image)
        factor = min(pixels.shape) // least_side if least_side else 1
        return pixels.reduced(factor) if factor > 1 and isinstance(pixels, Lines) else pixels, own_range


def decoded_pixels(file: BinaryIO, max_pixels: int = MAX_PIXELS, least_side: int | None = None) -> int:
    """Return how many pixels of an open file :func:`decode_file` decodes, by its header."""
    with _readable():
        return math.prod(open_image_file(file, max_pixels, least_side).size)


def _mixed(pixels: NDArray[Any] | Lines, value_range: tuple[float, float], colour: bool = False) -> NDArray[Any]:
    """Scale to [0, 1], lay over white, and weigh the channels; or keep them, as bytes."""
    if pixels.dtype.kind not in "biuf":
        raise ImageError("has no numbers for pixels; give booleans, integers or floats")
    if not pixels.size:
        raise ImageError("has no pixels; leave it out")
    white = WHITE.get(pixels.dtype.str[1:])
    low, high = (0.0, white) if white else value_range
    if low >= high:
        raise ImageError(f"can't be scaled by value_range=({low}, {high}); low must be less than high")
    as_it_is = colour and isinstance(pixels, Lines) and pixels.image.mode == "RGB"
    shape, dtype = ((*pixels.shape[:2], 3), np.uint8) if colour else (pixels.shape[:2], np.float32)
    out = np.empty(shape, dtype)
    rows = 1 + BLOCK // pixels.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(out), rows):
            if as_it_is:
                out[start : start + rows] = pixels[start : start + rows]
                continue
            mixed = _mix(pixels[start : start + rows], low, high, colour).astype(np.float32, copy=False)
            if not np.isfinite(mixed).all():
                raise ImageError(NOT_FINITE)
            out[start : start + rows] = 255 * mixed.clip(0, 1) + 0.5 if colour else mixed
    return out


def _mix(pixels: NDArray[Any], low: float, high: float, colour: bool) -> NDArray[Any]:
    scaled = pixels.astype(np.result_type(pixels, np.float32), copy=False)
    if (low, high) != (0, 1):
        scaled = (scaled - low) / (high - low)
    if scaled.ndim == 2:
        return scaled[..., None] if colour else scaled
    *colours, alpha = np.moveaxis(scaled, 2, 0) if scaled.shape[2] == 4 else (*np.moveaxis(scaled, 2, 0), 1)
    red, green, blue = colours if len(colours) == 3 else colours * 3
    if colour:
        return 1 + np.stack([alpha * (each - 1) for each in (red, green, blue)], axis=2)
    # so written, R = G = B stays exactly what it is
    luma = green + np.float32(LUMA[0]) * (red - green) + np.float32(LUMA[2]) * (blue - green)
    return 1 - alpha + alpha * luma
