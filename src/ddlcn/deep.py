"""How long the deep channel is beside pooled codes of length 1.

It keeps position: all for aligned faces of which there are few, nothing for objects that may be anywhere. So
held-out training images are asked.
"""

from __future__ import annotations

from scipy.sparse import csr_array, hstack
from sklearn.preprocessing import normalize

from ddlcn.held_out import Judge, sure_gain

LENGTHS = (0.5, 1.0, 2.0, 4.0)
LONGEST = 1e6
_UNASKED = 1.0  # where no class has an image to spare


def choose(judge: Judge, rows: csr_array, n_pooled: int) -> float:
    """The length that helps most by a judge, or 0; `rows` are of its sample, with a deep channel."""
    pooled, deep = (normalize(part, copy=False) for part in (rows[:, :n_pooled], rows[:, n_pooled:]))
    del rows  # makes room
    without = judge.likelihoods(pooled)
    if not len(without):
        return _UNASKED
    best, most = 0.0, 0.0
    for length in LENGTHS:
        both = normalize(hstack([pooled, length * deep], format="csr"), copy=False)
        gain = sure_gain(judge.likelihoods(both), without)
        if gain > most:
            best, most = length, gain
    return best
