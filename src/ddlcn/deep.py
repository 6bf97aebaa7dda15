"""How long the deep channel is beside pooled codes of length 1.

It keeps position: all for aligned faces of which there are few, nothing for objects that may be anywhere. So
held-out training images are asked.
"""

from __future__ import annotations

import numpy as np

from ddlcn.held_out import Judge, sure_gain
from ddlcn.layers.rows import Rows

LENGTHS = (0.5, 1.0, 2.0, 4.0)
LONGEST = 1e6
_UNASKED = 1.0  # where no class has an image to spare


def choose(judge: Judge, rows: Rows, n_pooled: int) -> float:
    """The length that helps most by a judge, or 0; `rows` are of its sample, with a deep channel.

    Pooled codes of length 1 beside a channel of length w have products that are those of pooled codes and w²
    times those of the channel.
    """
    pooled = _of_unit_rows(judge.products(rows, columns=slice(n_pooled)))
    without = judge.likelihoods(pooled)
    if not len(without):
        return _UNASKED
    deep = _of_unit_rows(judge.products(rows, columns=slice(n_pooled, None)))
    best, most = 0.0, 0.0
    for length in LENGTHS:
        both = _of_unit_rows(pooled + length**2 * (deep - 1))
        gain = sure_gain(judge.likelihoods(both), without)
        if gain > most:
            best, most = length, gain
    return best


def _of_unit_rows(gram: np.ndarray) -> np.ndarray:
    """X Xᵀ + 1, in place, for the rows of X brought to length 1.

    >>> _of_unit_rows(np.array([[10.0, 7.0], [7.0, 5.0]]))
    array([[2., 2.],
           [2., 2.]])
    """
    gram -= 1
    lengths = np.sqrt(gram.diagonal())
    lengths[lengths == 0] = 1
    gram /= lengths
    gram /= lengths[:, None]
    gram += 1
    return gram
