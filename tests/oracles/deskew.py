"""Deskewing of a foreground on a uniform background, pixel by pixel, from sums over all pixels."""

import numpy as np


def moments(grey, background):
    """Centre of mass, variances of rows and columns and their covariance, with mass |grey − background|."""
    places = [(r, c) for r in range(grey.shape[0]) for c in range(grey.shape[1])]
    mass = np.array([abs(float(grey[place]) - background) for place in places])
    places = np.array(places, float)
    centre = mass @ places / mass.sum()
    spread = (places - centre).T @ ((places - centre) * mass[:, None]) / mass.sum()
    return centre, spread


def background(grey):
    """The upper median of the border, whose corners count twice."""
    border = sorted([*grey[0], *grey[-1], *grey[:, 0], *grey[:, -1]])
    return float(border[len(border) // 2])


def interpolate(grey, y, x, outside):
    """Bilinear interpolation between four pixels; `outside` beyond the border."""
    height, width = grey.shape
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return outside
    top, left = int(y), int(x)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = grey[top, left] * (1 - x + left) + grey[top, right] * (x - left)
    lower = grey[down, left] * (1 - x + left) + grey[down, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def deskew(grey, size, most=2.0):
    """Place (r, c) from the middle is read at (down·r, shear·down·r + across·c) from the centre of mass."""
    (row, column), spread = moments(grey, background(grey))
    shear = spread[0, 1] / spread[0, 0] if spread[0, 0] else 0.0
    narrow = spread[1, 1] - shear * spread[0, 1]
    side = min(grey.shape)
    down = np.clip(np.sqrt(spread[0, 0]) / (size[0] * side), 1 / most, most)
    across = np.clip(np.sqrt(np.sqrt(max(narrow, 0)) / (size[1] * side)), 1 / most, most)
    out = np.empty(grey.shape)
    for r in range(grey.shape[0]):
        for c in range(grey.shape[1]):
            y, x = r - (grey.shape[0] - 1) / 2, c - (grey.shape[1] - 1) / 2
            place = row + down * y, column + shear * down * y + across * x
            out[r, c] = interpolate(grey, *place, background(grey))
    return out
