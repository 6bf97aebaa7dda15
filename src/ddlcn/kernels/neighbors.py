"""The k nearest atoms of descriptors.

A fast float32 product proposes; distances summed here, in one order, decide. So what is found depends on the
descriptor alone, not on the block it came in.
"""

import numpy as np

from ddlcn.kernels.compiled import kernel, part

GROUPS = 64


@part
def _limit(y, squares, products, k, distances, minima):
    """A bound on `distances`, ‖v_j‖² − 2 v_j·y, that at least the k nearest atoms keep, hardly more.

    Deal the atoms to groups, j to j mod GROUPS: a bound that the minima of k groups keep, found by bisection,
    and beyond it the most that rounding can do.
    """
    minima[:] = np.inf
    whole = squares.size // GROUPS * GROUPS
    for start in range(0, whole, GROUPS):
        for g in range(GROUPS):
            distance = squares[start + g] - np.float32(2) * products[start + g]
            distances[start + g] = distance
            minima[g] = distance if distance < minima[g] else minima[g]
    for j in range(whole, squares.size):
        distances[j] = squares[j] - np.float32(2) * products[j]
        minima[j - whole] = min(minima[j - whole], distances[j])
    if squares.size <= GROUPS or 2 * k > GROUPS:
        return np.float32(np.inf)
    low = high = minima[0]
    for g in range(GROUPS):
        low, high = min(low, minima[g]), max(high, minima[g])
    for _ in range(8):
        middle, count = np.float32(0.5) * (low + high), np.int32(0)
        for g in range(GROUPS):
            count += np.int32(minima[g] <= middle)
        if count >= k:
            high = middle
        else:
            low = middle
    size = np.float32(0)
    for d in range(y.size):
        size += y[d] * y[d]
    return high + np.float32(1e-5) * (size + abs(high) + 1)


@part
def _nearest(y, V, squares, products, room, best, order):
    """order = the nearest atoms, best = their squared distances; of equally near atoms, the first."""
    exact, distances, near, some, candidates, minima = room
    n_atoms, k = squares.size, order.size
    limit = _limit(y, squares, products, k, distances, minima)
    n_eights = (n_atoms + 7) // 8
    near[n_atoms : 8 * n_eights] = 0
    for j in range(n_atoms):
        near[j] = distances[j] <= limit
    eights, n_some, n_candidates = near.view(np.uint64), 0, 0  # few have a near atom among their eight
    for e in range(n_eights):
        some[n_some] = 8 * e
        n_some += eights[e] != 0
    for e in range(n_some):
        for j in range(some[e], some[e] + 8):
            candidates[n_candidates] = j
            n_candidates += near[j]
    for d in range(y.size):
        exact[d] = y[d]
    filled = 0
    for c in range(n_candidates):
        j, distance = candidates[c], 0.0
        for d in range(y.size):
            difference = np.float64(V[j, d]) - exact[d]
            distance += difference * difference
        if filled < k or distance < best[k - 1]:
            slot = min(filled, k - 1)
            filled = slot + 1
            while slot > 0 and best[slot - 1] > distance:
                best[slot], order[slot] = best[slot - 1], order[slot - 1]
                slot -= 1
            best[slot], order[slot] = distance, j


@part
def _room(V):
    """Arrays that `_nearest` works in."""
    distances, minima = np.empty(V.shape[0], np.float32), np.empty(GROUPS, np.float32)
    near = np.zeros((V.shape[0] + 7) // 8 * 8, np.uint8)
    some, candidates = np.empty(near.size, np.int64), np.empty(near.size + 1, np.int64)
    return np.empty(V.shape[1]), distances, near, some, candidates, minima


@kernel
def nearest(Y, V, squares, products, orders, squared):
    """The nearest atoms of the rows of Y, and their squared distances, both (n, k); products are with all."""
    room = _room(V)
    for n in range(Y.shape[0]):
        _nearest(Y[n], V, squares, products[n], room, squared[n], orders[n])
