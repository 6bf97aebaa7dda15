"""The readers of image files, by the first bytes of a file."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, BinaryIO

from PIL import features
from PIL.AvifImagePlugin import AvifImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.Image import Image
from PIL.Jpeg2KImagePlugin import Jpeg2KImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.WebPImagePlugin import WebPImageFile

from ddlcn.errors import ImageError
from ddlcn.images import bombs

KINDS = (
    "replace it by a PNG, JPEG, GIF, BMP, TIFF, PPM, WebP, AVIF or JPEG 2000 image (HEIC: pip install 'ddlcn[heic]')"
)


def _brands(*brands: bytes) -> tuple[bytes, ...]:
    """First bytes of files that start with a box of any usual length that names a brand."""
    return tuple(bytes((0, 0, 0, length)) + b"ftyp" + brand for length in range(16, 256, 4) for brand in brands)


HEIC = _brands(b"heic", b"heix", b"heim", b"heis", b"mif1")
READERS: tuple[tuple[tuple[bytes, ...], Any], ...] = (
    ((b"\x89PNG",), PngImageFile),
    ((b"\xff\xd8\xff",), JpegImageFile),
    ((b"GIF8",), bombs.GifReader),
    ((b"BM",), BmpImageFile),
    ((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), bombs.TiffReader),
    ((b"P1", b"P2", b"P3", b"P4", b"P5", b"P6", b"Pf"), PpmImageFile),
    ((b"RIFF",), WebPImageFile),
)
if features.check("avif"):
    READERS += ((_brands(b"avif", b"avis"), AvifImageFile),)
if features.check("jpg_2000"):
    READERS += (((b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  \r\n\x87\n"), Jpeg2KImageFile),)
with suppress(ImportError):  # the extra heic
    from pillow_heif import HeifImageFile

    class HeicImageFile(HeifImageFile):
        def draft(self, *_: Any) -> None:
            """Decode the image itself: a damaged one may have a good thumbnail."""

    READERS += ((HEIC, HeicImageFile),)


def open_image_file(file: BinaryIO, max_pixels: int, least_side: int | None) -> Image:
    """Open an image file, or a `BytesIO`, by its first bytes; its pixels are not decoded yet."""
    head = file.read(16)
    reader = next((reader for magic, reader in READERS if head.startswith(magic)), None)
    if reader is None:
        if head.startswith(HEIC):
            raise ImageError("is a HEIC photo; to read it, pip install 'ddlcn[heic]', or save it as JPEG")
        raise ImageError(f"{'is no image of a known kind' if head else 'is empty'}; {KINDS}")
    return bombs.open_safely(reader, file, max_pixels, least_side)
