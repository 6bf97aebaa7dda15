"""Tiles: an atom, and beside it the patches nearest to it or the atoms that use it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from ddlcn.drawing import signed as signed
from ddlcn.report.strokes import strokes

FOR, AGAINST = "#b2182b", "#2166ac"
_GAP = 0.12  # between the squares of a tile, whose side is 1


class Square(NamedTuple):
    """An atom of SIFT (1-D), or pixels in grey (2-D) or RGB (3-D), with a caption or none."""

    values: np.ndarray
    caption: str = ""


class Tile(NamedTuple):
    """An atom and what is drawn beside it, the first square framed in this colour."""

    squares: list[Square]
    colour: str = "black"


def captioned(pictures: Iterable[np.ndarray], caption: str) -> list[Square]:
    """Return squares of which the first has the caption."""
    return [Square(each, "" if n else caption) for n, each in enumerate(pictures)]


def width(tiles: Sequence[Tile]) -> float:
    """Return the width of the widest tile and the space after it."""
    return 0.5 + (1 + _GAP) * max((len(tile.squares) for tile in tiles), default=1)


def draw_tiles(axis: Axes, tiles: Sequence[Tile], columns: int, top: float, height: float) -> None:
    """Draw tiles in rows of so many columns, the first row's captions at `top`, with y down."""
    for i, tile in enumerate(tiles):
        row, column = divmod(i, columns)
        x, y = 0.25 + column * width(tiles), top + row * height + height - 1.1
        for n, square in enumerate(tile.squares):
            left = x + n * (1 + _GAP)
            draw_square(axis, square.values, left, y)
            if n == 0 or square.values.ndim == 1:
                edge = tile.colour if n == 0 else "0.75"
                axis.add_patch(Rectangle((left, y), 1, 1, fill=False, edgecolor=edge, linewidth=1))
            size, colour = (9, tile.colour) if n == 0 else (7, "0.3")
            axis.text(left, y - 0.06, square.caption, fontsize=size, color=colour, va="bottom")


def draw_square(axis: Axes, values: np.ndarray, x: float, y: float) -> None:
    """Draw the strokes of an atom, or pixels in [0, 1], in the unit square at (x, y)."""
    if values.ndim > 1:
        axis.imshow(values, cmap="gray", vmin=0, vmax=1, extent=(x, x + 1, y + 1, y))
        return
    segments, strengths = strokes(values)
    lines = LineCollection(list(segments + (x, y)), linewidths=0.4 + 2 * strengths, colors="k")
    lines.set_alpha(strengths.tolist())
    axis.add_collection(lines)


def plain(text: Any, most: int = 28) -> str:
    """Return text for matplotlib: short, and with no sign that would start a formula."""
    text = str(text)
    return (text if len(text) <= most else f"{text[: most - 1]}…").replace("$", r"\$")


def fitted(text: Any, inches: float, size: float) -> str:
    """Return text for matplotlib, cut where it would be wider than this at a font size.

    >>> fitted("a short name", 2, 10), fitted("WWWWWWWWWWWWWWWW", 1, 10)
    ('a short name', 'WWWWWW…')
    """
    cuts = (plain(text, most) for most in range(28, 0, -1))
    return next((cut for cut in cuts if TextPath((0, 0), cut, size=size).get_extents().width <= 72 * inches), "…")
