"""Files that cost far more to decode than to send: refused by their headers, before a pixel is touched.

Pillow's readers bound the pixels at most. A header, though, can be cut in millions of pieces, each of which
costs a reader a hundred times its bytes, and a picture can be painted over and over.
"""

import math
import os
import re
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

from PIL.GifImagePlugin import GifImageFile
from PIL.Image import Image, new
from PIL.JpegImagePlugin import JpegImageFile
from PIL.TiffImagePlugin import TiffImageFile

from ddlcn.errors import ImageError

MAX_PIXELS = 100_000_000
MAX_SIDE = 100_000  # pixels; to shrink a longer one takes gigabytes of coefficients
MAX_BYTES = 1 << 30  # of a file
HEADER_BYTES = 128 << 20  # read before the size in pixels is known; of WebP, AVIF and HEIC that is the whole file
PIXEL_BYTES = 32  # read for each pixel after that
MAX_PIECES = 100_000  # reads of a header, segments of a JPEG, strips of a TIFF
MAX_LAYERS = 8  # times that the strips of a TIFF may cover it: once for each channel
MAX_SCANS = 100  # of a JPEG, as in libtiff; a scan of 42 bytes can cost a pass over all pixels
BOMB = "(a decompression bomb?); save it again or remove it"
JPEG_MARKER = re.compile(rb"\xff[\xc0-\xcf\xd9-\xfe]")  # those that have a length, and the end
STRIP_TAGS = (273, 279, 324, 325)  # offsets and lengths of a TIFF's strips and tiles
BLOCK = 1 << 20  # bytes searched at a time


class GifReader(GifImageFile):
    """Pillow's reader, without its limit on the pixels that a second frame would replace."""

    disposal_method = property(lambda self: 0, lambda self, method: None)


class TiffReader(TiffImageFile):
    """Pillow's reader, without its limit on pixels, which holds for the whole process."""

    def load_prepare(self) -> None:
        if self._im is None:
            self.im = new(self.mode, self._tile_size, None).im
        super().load_prepare()


def open_safely(
    reader: Callable[[Any], Image], file: BinaryIO, max_pixels: int = MAX_PIXELS, least_side: int | None = None
) -> Image:
    """Return what a reader of Pillow's makes of a file's header, or raise an ImageError without its name.

    A JPEG will be shrunk while it is decoded, by 2, 4 or 8, as far as both sides keep `least_side` pixels.
    `max_pixels` is its limit after that.
    """
    if file.seek(0, os.SEEK_END) > MAX_BYTES:
        raise ImageError(f"has over {MAX_BYTES >> 20} MB; save it smaller, or remove it")
    if reader is TiffReader:
        _check_strips(file)
    pieces = _Pieces(file)
    image = reader(pieces)  # given a name, Pillow maps the file, and then turns TIFFs twice
    _check_size(image, MAX_PIXELS)
    pieces.left, pieces.bytes = math.inf, HEADER_BYTES + PIXEL_BYTES * image.width * image.height
    if least_side:
        image.draft(None, (least_side, least_side))
    _check_size(image, max_pixels)
    if reader is JpegImageFile:
        at = file.tell()
        _check_scans(file)
        file.seek(at)
    return image


class _Pieces:
    """A file of which so many pieces and bytes are read and no more."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._end = file, file.seek(0, os.SEEK_END)
        self.left, self.bytes = float(MAX_PIECES), HEADER_BYTES
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self._end - self._file.tell())
        size = rest if size < 0 else min(size, rest)
        self.left, self.bytes = self.left - 1, self.bytes - size
        if self.left < 0:
            raise ImageError(f"has a header of over {MAX_PIECES:,} pieces {BOMB}")
        if self.bytes < 0:
            raise ImageError(f"has far more bytes than its pixels need {BOMB}")
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _check_size(image: Image, max_pixels: int) -> None:
    width, height = image.size
    if width * height > max_pixels or max(width, height) > MAX_SIDE:
        limit = f"{max_pixels // 10**6} million, and of {MAX_SIDE:,} per side"
        size = f"{width} x {height} pixels, over the limit of {limit}"
        raise ImageError(f"has {size} (a decompression bomb?); shrink it or remove it")
    boxes = (tile[1] for tile in getattr(image, "tile", ()))
    covered = sum((right - left) * (bottom - top) for left, top, right, bottom in boxes)
    if covered > MAX_LAYERS * width * height:
        raise ImageError(f"has strips that cover it over {MAX_LAYERS} times {BOMB}")


def _check_scans(jpeg: BinaryIO) -> None:
    """Count how often a JPEG goes over its picture, and its segments, until they are too many."""
    at, start, block, scans = 2, 0, b"", 0
    for _ in range(MAX_PIECES):
        found = JPEG_MARKER.search(block, max(0, at - start)) if at < start + len(block) else None
        while not found or found.end() + 2 > len(block):  # beyond this block
            at = max(at, start + found.start() if found else start + len(block) - 1)
            jpeg.seek(at)
            start, block = at, jpeg.read(BLOCK)
            found = JPEG_MARKER.search(block)
            if len(block) < BLOCK and (not found or found.end() + 2 > len(block)):
                return
        if found[0] == b"\xff\xd9":
            return
        scans += found[0] == b"\xff\xda"
        if scans > MAX_SCANS:
            raise ImageError(f"has over {MAX_SCANS} scans {BOMB}")
        at = start + found.end() + int.from_bytes(block[found.end() : found.end() + 2])
    raise ImageError(f"has over {MAX_PIECES:,} segments {BOMB}")


def _check_strips(tiff: BinaryIO) -> None:
    """Refuse a TIFF whose first directory lists very many strips or tiles."""
    tiff.seek(0)
    head = tiff.read(16)
    order, big = "<" if head[:1] == b"I" else ">", 43 in head[2:4]
    at, count, entry = ("8xQ", "Q", "HHQ8x") if big else ("4xI", "H", "HHI4x")
    (first,) = struct.unpack_from(order + at, head)
    tiff.seek(first)
    (tags,) = struct.unpack(order + count, tiff.read(struct.calcsize(order + count)))
    if tags > MAX_PIECES:
        raise ImageError(f"has over {MAX_PIECES:,} tags {BOMB}")
    entries = tiff.read(tags * struct.calcsize(order + entry))
    whole = len(entries) - len(entries) % struct.calcsize(order + entry)
    for tag, _, n in struct.iter_unpack(order + entry, entries[:whole]):
        if tag in STRIP_TAGS and n > MAX_PIECES:
            raise ImageError(f"has over {MAX_PIECES:,} strips {BOMB}")
