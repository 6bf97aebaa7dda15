"""Where the places and the channels of a network's tensors are."""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np

_MAX_EXTRA_TOKENS = 5  # class token, distillation token, registers


class Layout(NamedTuple):
    """Where the places and the channels of a tensor are."""

    kind: str  # "NCHW", "NHWC" or "tokens"
    side: int  # places in a row
    channels: int


def layout_of(shape: tuple[int, ...], channels_last: bool = False) -> Layout | None:
    """Return the layout of a tensor of one image, or None if it has no square of places.

    Parameters
    ----------
    shape : tuple of int
        Maps are (1, channels, k, k) or (1, k, k, channels), tokens (1, k² + extra, channels).
    channels_last : bool
        How to read a map whose three sides are equal.

    Returns
    -------
    Layout or None

    Examples
    --------
    >>> layout_of((1, 1280, 7, 7)), layout_of((1, 197, 768))
    (Layout(kind='NCHW', side=7, channels=1280), Layout(kind='tokens', side=14, channels=768))
    """
    if len(shape) == 3 and shape[0] == 1:
        side = isqrt(shape[1])
        return Layout("tokens", side, shape[2]) if side > 1 and shape[1] - side**2 <= _MAX_EXTRA_TOKENS else None
    if len(shape) != 4 or shape[0] != 1:
        return None
    _, a, b, c = shape
    if b == c and not (channels_last and a == b):
        return Layout("NCHW", b, a)
    return Layout("NHWC", a, c) if a == b else None


def as_rows(values: np.ndarray, layout: Layout) -> np.ndarray:
    """Return a tensor of one image as float32 rows, one for each place."""
    values = values[0].transpose(1, 2, 0) if layout.kind == "NCHW" else values[0]
    rows = values.reshape(-1, layout.channels)
    return np.ascontiguousarray(rows[len(rows) - layout.side**2 :], np.float32)
