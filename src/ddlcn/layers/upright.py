"""A figure on plain ground, stood upright: sheared, centred and scaled by its moments.

With mass m = abs(grey − ground) at row r and column c, and moments about its centre, the affine map that

    shears by          Cov(r, c) / Var(r)              so that rows and columns are no longer correlated
    scales rows by     √Var(r) / wanted height
    scales columns by  (√Var(c − shear·r) / wanted width)^½    half of the way: a 1 stays narrower than a 0

gives the place in the image that each place of the upright one is looked up at. Where pictures have no plain
ground, the moments are of no figure, and say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

import numpy as np

from ddlcn.kernels import warps

_PLAIN = 0.1  # of the range of a picture: its border varies by no more if its ground is plain
_OTHERS = 0.1  # of pictures may have another ground
_MOST = 2.0  # that a figure is enlarged or shrunk by
_FILLED = 5 / 6  # of the shorter side of a picture, by figures that stand
_LARGER = 1.25  # that all figures are enlarged by for that, at most


class Figure(NamedTuple):
    """Where the figure of a picture is: centre, shear, and standard deviations once it is sheared back."""

    row: float
    column: float
    shear: float
    height: float
    width: float


def figure_of(grey: np.ndarray) -> Figure | None:
    """The figure in a picture, in pixels; None for a blank one.

    >>> figure_of(np.eye(3, dtype=np.float32)).shear
    1.0
    """
    return _figure(grey, ground_of(grey))


def _figure(grey: np.ndarray, ground: float) -> Figure | None:
    total, row, column, tall, wide, both = warps.moments(grey, ground)
    if not total > 0:
        return None
    shear = both / tall if tall > 0 else 0.0
    return Figure(row, column, shear, sqrt(tall), sqrt(max(wide - shear * both, 0.0)))


def ground_of(grey: np.ndarray) -> float:
    """The median of the grey values at the border."""
    border = _border(grey)
    return float(np.partition(border, border.size // 2)[border.size // 2])


def has_plain_ground(grey: np.ndarray) -> bool:
    """Whether the border of a picture is all of one grey, or nearly so, and the picture is not.

    >>> [has_plain_ground(grey) for grey in (np.pad([[1]], 1), np.eye(4), np.ones((4, 4)))]
    [True, False, False]
    """
    return bool(np.ptp(_border(grey)) <= _PLAIN * np.ptp(grey) > 0)


def typical(pictures: Iterable[np.ndarray], n_pictures: int) -> tuple[float, float] | None:
    """The typical height and width of figures, in shorter sides of their pictures.

    None if more than a tenth of the pictures have none on plain ground; then the others are not looked at.
    """
    sizes, others = [], 0
    for grey in pictures:
        figure = figure_of(grey) if has_plain_ground(grey) else None
        others += figure is None
        if others > _OTHERS * n_pictures:
            return None
        if figure is not None:
            sizes.append((figure.height / min(grey.shape), figure.width / min(grey.shape)))
    height, width = np.median(sizes, axis=0)
    return (float(height), float(width)) if min(height, width) > 0 else None


def filling(height: float, width: float) -> tuple[float, float]:
    """The size that figures of a typical size are brought to: larger, if that leaves much of a picture empty.

    A bar of even mass is √12 standard deviations long.

    >>> filling(0.1, 0.04), filling(0.3, 0.1)
    ((0.125, 0.05), (0.3, 0.1))
    """
    larger = min(max(1.0, _FILLED / (sqrt(12) * max(height, width))), _LARGER)
    return larger * height, larger * width


def stand(grey: np.ndarray, size: tuple[float, float]) -> np.ndarray:
    """The picture with its figure upright, in the middle, and of about that size, in its shorter sides."""
    ground = ground_of(grey)
    figure = _figure(grey, ground)
    if figure is None:
        return grey
    height, width = (min(grey.shape) * side for side in size)
    down = min(max(figure.height / height, 1 / _MOST), _MOST)
    across = min(max(sqrt(figure.width / width), 1 / _MOST), _MOST)
    slant, (middle_row, middle_column) = figure.shear * down, ((side - 1) / 2 for side in grey.shape)
    top, left = figure.row - down * middle_row, figure.column - slant * middle_row - across * middle_column
    return warps.stood(grey, down, slant, across, top, left, ground)


def _border(grey: np.ndarray) -> np.ndarray:
    return np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
