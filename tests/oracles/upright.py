"""A figure on plain ground stood upright, pixel by pixel, from sums over all pixels."""

import numpy as np


def moments(grey, ground):
    """Centre of mass, variances of rows and columns and their covariance, with mass |grey − ground|."""
    places = [(r, c) for r in range(grey.shape[0]) for c in range(grey.shape[1])]
    mass = np.array([abs(float(grey[place]) - ground) for place in places])
    places = np.array(places, float)
    centre = mass @ places / mass.sum()
    spread = (places - centre).T @ ((places - centre) * mass[:, None]) / mass.sum()
    return centre, spread


def ground(grey):
    """The upper median of the border, whose corners count twice."""
    border = sorted([*grey[0], *grey[-1], *grey[:, 0], *grey[:, -1]])
    return float(border[len(border) // 2])


def look_up(grey, y, x, outside):
    """Between the four pixels around a place; `outside` of the picture beyond its last pixels."""
    height, width = grey.shape
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return outside
    top, left = int(y), int(x)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = grey[top, left] * (1 - x + left) + grey[top, right] * (x - left)
    lower = grey[down, left] * (1 - x + left) + grey[down, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def stand(grey, size, most=2.0):
    """Place (r, c) from the middle is looked up at (down·r, shear·down·r + across·c) from the centre."""
    (row, column), spread = moments(grey, ground(grey))
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
            out[r, c] = look_up(grey, *place, ground(grey))
    return out
