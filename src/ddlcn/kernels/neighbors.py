"""The k nearest atoms of descriptors, among all atoms or among those of some groups.

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
def _nearest(y, V, atoms, squares, products, room, best, order):
    """order = the nearest ones of some atoms, best = their squared distances; of equals, who comes first."""
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
        j, distance = atoms[candidates[c]], 0.0
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
    room, atoms = _room(V), np.arange(V.shape[0])
    for n in range(Y.shape[0]):
        _nearest(Y[n], V, atoms, squares, products[n], room, squared[n], orders[n])


# ------------------------------------------------------------------------------------------- some groups only


@kernel
def near_groups(Y, guides, squares, sizes, least, groups, starts):
    """The groups whose guides are nearest to each row of Y, until they have `least` atoms in all.

    `guides` has a column for each. Row n of `groups` lists them, ended by −1, and row n of `starts` says how
    many atoms come before each. Returns the most atoms that a row has.
    """
    n_guides, most = squares.size, 0
    distances = np.empty(n_guides, np.float32)
    for n in range(Y.shape[0]):
        for g in range(n_guides):
            distances[g] = 0
        for d in range(Y.shape[1]):
            value, line = Y[n, d], guides[d]
            for g in range(n_guides):
                distances[g] += value * line[g]
        for g in range(n_guides):
            distances[g] = squares[g] - np.float32(2) * distances[g]
        found, place = 0, 0
        while found < least:
            nearest = np.argmin(distances)
            distances[nearest] = np.inf
            groups[n, place], starts[n, place] = nearest, found
            found += sizes[nearest]
            place += 1
        if place < n_guides:
            groups[n, place] = -1
        most = max(most, found)
    return most


@kernel
def visitors(groups, n_groups):
    """By group, the rows that list it, and at which place: where each list begins, rows, places."""
    heads = np.zeros(n_groups + 1, np.int64)
    for n in range(groups.shape[0]):
        for place in range(groups.shape[1]):
            if groups[n, place] < 0:
                break
            heads[groups[n, place] + 1] += 1
    for g in range(n_groups):
        heads[g + 1] += heads[g]
    rows, places, filled = np.empty(heads[-1], np.int64), np.empty(heads[-1], np.int64), heads[:-1].copy()
    for n in range(groups.shape[0]):
        for place in range(groups.shape[1]):
            g = groups[n, place]
            if g < 0:
                break
            rows[filled[g]], places[filled[g]] = n, place
            filled[g] += 1
    return heads, rows, places


@kernel
def spread(found, rows, places, starts, products):
    """Put the products of a group with its visitors where each of them has room for the group."""
    for i in range(rows.size):
        start = starts[rows[i], places[i]]
        line = products[rows[i]]
        for j in range(found.shape[1]):
            line[start + j] = found[i, j]


@kernel
def nearest_of_groups(Y, V, squares, heads, members, groups, products, orders, squared):
    """As `nearest`, but of the groups of each row; products are with these, one group after the other.

    Group g has the atoms members[heads[g]:heads[g + 1]].
    """
    room, atoms, own = _room(V), np.empty(V.shape[0], np.int64), np.empty(V.shape[0], np.float32)
    for n in range(Y.shape[0]):
        count = 0
        for g in groups[n]:
            if g < 0:
                break
            for m in range(heads[g], heads[g + 1]):
                atoms[count], own[count] = members[m], squares[members[m]]
                count += 1
        _nearest(Y[n], V, atoms, own[:count], products[n, :count], room, squared[n], orders[n])
