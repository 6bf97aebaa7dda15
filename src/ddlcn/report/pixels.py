"""Images for people: at their own size or at working size, patches of them, and figures in files."""

import io
import os
from pathlib import PurePath
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ddlcn.classifier import DDLCNClassifier
from ddlcn.drawing import EVIDENCE_COLOURS as EVIDENCE_COLOURS
from ddlcn.drawing import data_uri as data_uri
from ddlcn.drawing import overlay as overlay
from ddlcn.errors import DDLCNError
from ddlcn.images import decode_file, read_colour, read_grey
from ddlcn.images.decode import naming, open_image
from ddlcn.persistence.atomic import write_atomically


def as_image(model: DDLCNClassifier, image: Any) -> Any:
    """Return a path or an array; the row of a matrix is given its shape."""
    return image if model.image_shape is None else np.reshape(image, model.image_shape)


def read_original(model: DDLCNClassifier, image: Any, colour: bool = False) -> np.ndarray:
    """Return an image at its own size, in grey or in colour."""
    read = read_colour if colour else read_grey
    return read(as_image(model, image), value_range=model.encoder_.value_range)


def read_small(model: DDLCNClassifier, image: Any, side: int, colour: bool = False) -> np.ndarray:
    """Return an image that keeps so many pixels per side if it has them: large files are shrunk."""
    if not isinstance(image, str | os.PathLike):
        return read_original(model, image, colour)
    with naming(repr(os.fspath(image))), open_image(image) as file:
        return decode_file(file, least_side=side, colour=colour)


def working_picture(model: DDLCNClassifier, image: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return an image as descriptors of this shape see it, in colour if it has any."""
    found = model.encoder_.working_image(as_image(model, image), shape, colour=True)
    grey = not np.ptp(found, axis=2).any()
    return model.encoder_.working_image(as_image(model, image), shape) if grey else found


def patch(picture: np.ndarray, position: np.ndarray, size: int, margin: int = 0) -> np.ndarray:
    """Return the pixels of a patch and of a margin around it, black outside the image."""
    top, left = (max(0, round(float(centre) - (size - 1) / 2)) for centre in position)
    padded = np.pad(picture, [(margin, margin)] * 2 + [(0, 0)] * (picture.ndim - 2))
    return padded[top : top + size + 2 * margin, left : left + size + 2 * margin]


def full_contrast(pixels: np.ndarray) -> np.ndarray:
    """Return pixels at full contrast; the mean of coloured ones keeps its hue, at middle brightness."""
    if pixels.ndim == 2:
        return (pixels - pixels.min()) / max(float(np.ptp(pixels)), 1e-6)
    mean = pixels.mean(axis=(0, 1))
    differences = (pixels - mean) / max(2 * float(np.abs(pixels - mean).max()), 1e-6)
    return np.clip(0.5 + mean - mean.mean() + differences, 0, 1)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, in the format that the file's name ends in; no incomplete file is ever left.

    Parameters
    ----------
    figure : matplotlib Figure
    path : path
        As in `picture.png` or `picture.svg`.

    Raises
    ------
    DDLCNError
        If the format is unknown, or the file can't be written.
    """
    kind = PurePath(path).suffix[1:].lower() or "png"
    if kind not in (known := figure.canvas.get_supported_filetypes()):
        raise DDLCNError(f"{os.fspath(path)!r}: can't draw .{kind}; name a file in {', '.join(sorted(known))}")
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=120)
    write_atomically(path, file.getvalue())
