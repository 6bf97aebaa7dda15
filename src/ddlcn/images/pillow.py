"""The pixels of a Pillow image, whatever its mode, without a copy of them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ImageCms
from PIL.Image import Image, Resampling

FILE_WHITES = {"I": (65535,), "F": (1, 255, 65535)}  # by Pillow's mode: the first that holds all pixels


class Lines:
    """A Pillow image as the array that it would be, of which only the lines asked for are made: a third less memory."""

    def __init__(self, image: Image) -> None:
        self.image, self.shape = image, (image.height, image.width)
        self.size, self.dtype = image.height * image.width, np.dtype("?" if image.mode == "1" else np.uint8)

    def __getitem__(self, lines: slice) -> NDArray[Any]:
        (height, width), start = self.shape, lines.start
        stop = min(lines.stop, height)
        # a crop, without the limit on pixels that Pillow's own has for the whole process
        return np.asarray(self.image.resize((width, stop - start), Resampling.NEAREST, box=(0, start, width, stop)))

    def reduced(self, factor: int) -> Lines:
        """Return the image shrunk: each pixel is the mean of factor × factor pixels."""
        return Lines((self.image.convert("L") if self.image.mode == "1" else self.image).reduce(factor))


def pixels_of(image: Image) -> tuple[NDArray[Any] | Lines, tuple[float, float]]:
    """Return a Pillow image as what decoding takes, and its value range."""
    if image.mode in FILE_WHITES:
        pixels = np.asarray(image)
        high = pixels.max(initial=0)
        white = next((white for white in FILE_WHITES[image.mode] if high <= white), high)
        return pixels, (float(pixels.min(initial=0)), float(white))
    if image.mode.startswith("I;16"):
        pixels = np.asarray(image)
        return np.where(pixels == image.info.get("transparency", -1), np.uint16(65535), pixels), (0.0, 1.0)
    if image.mode == "LAB":
        lab, rgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        image = ImageCms.profileToProfile(image, lab, rgb, outputMode="RGB") or image
    elif image.has_transparency_data:
        image = image.convert("RGBA")
    elif image.mode not in ("1", "L", "RGB"):
        image = image.convert("RGB")
    return Lines(image), (0.0, 1.0)
