"""Signed maxima and minima of codes over the cells of a pyramid, and the sparse row made of them."""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def cells(positions, shape, levels):
    """The cell of each position (row, column) at each level, cells counted level by level, row by row."""
    out = np.empty((positions.shape[0], levels.size), np.int64)
    for i in range(positions.shape[0]):
        start = 0
        for n in range(levels.size):
            level = levels[n]
            row = int(np.ceil((positions[i, 0] + 1) * level / shape[0])) - 1
            column = int(np.ceil((positions[i, 1] + 1) * level / shape[1])) - 1
            row, column = min(max(row, 0), level - 1), min(max(column, 0), level - 1)
            out[i, n] = start + row * level + column
            start += level * level
    return out


@kernel
def used_atoms(indices, n_atoms):
    """The atoms that occur in codes, in rising order, and `indices` counted among them."""
    occurs, places = np.zeros(n_atoms, np.bool_), np.empty(n_atoms, np.int32)
    for i in range(indices.shape[0]):
        for n in range(indices.shape[1]):
            occurs[indices[i, n]] = True
    used, n_used = np.empty(n_atoms, np.int64), 0
    for atom in range(n_atoms):
        if occurs[atom]:
            used[n_used], places[atom] = atom, n_used
            n_used += 1
    renamed = np.empty(indices.shape, np.int32)
    for i in range(indices.shape[0]):
        for n in range(indices.shape[1]):
            renamed[i, n] = places[indices[i, n]]
    return used[:n_used], renamed


@kernel
def pool(indices, values, cells, maximum, minimum):
    """Fill maximum and minimum (n_cells, n_atoms); absent codes count as zero, empty cells are zero.

    cells[i, level] is the cell that descriptor i falls into at a level.
    """
    n_cells, n_atoms = maximum.shape
    uses = np.zeros((n_cells, n_atoms), np.int32)
    members = np.zeros(n_cells, np.int32)
    maximum[:] = 0
    minimum[:] = 0
    for i in range(indices.shape[0]):
        for level in range(cells.shape[1]):
            cell = cells[i, level]
            members[cell] += 1
            for n in range(indices.shape[1]):
                atom, value = indices[i, n], values[i, n]
                if uses[cell, atom] == 0:
                    maximum[cell, atom] = value
                    minimum[cell, atom] = value
                else:
                    maximum[cell, atom] = max(maximum[cell, atom], value)
                    minimum[cell, atom] = min(minimum[cell, atom], value)
                uses[cell, atom] += 1
    for cell in range(n_cells):
        if members[cell] > 0:
            for atom in range(n_atoms):
                if uses[cell, atom] < members[cell]:
                    maximum[cell, atom] = max(maximum[cell, atom], np.float32(0))
                    minimum[cell, atom] = min(minimum[cell, atom], np.float32(0))


@kernel
def weighted_row(maximum, minimum, used, max_weights, min_weights, columns, data):
    """The collapsed feature, cell by cell, [max · weight, min · weight], as a sparse row of unit length.

    Of all atoms, which have weights, `used` were pooled. Returns the number of entries written; without min
    weights there is no min channel.
    """
    n_cells, n_atoms = maximum.shape[0], max_weights.size
    channels = 2 if min_weights.size else 1
    n, energy = 0, 0.0
    for cell in range(n_cells):
        start = cell * channels * n_atoms
        for i in range(used.size):
            value = maximum[cell, i] * max_weights[used[i]]
            if value != 0:
                columns[n], data[n] = start + used[i], value
                energy += np.float64(value) * value
                n += 1
        if channels == 2:
            for i in range(used.size):
                value = minimum[cell, i] * min_weights[used[i]]
                if value != 0:
                    columns[n], data[n] = start + n_atoms + used[i], value
                    energy += np.float64(value) * value
                    n += 1
    if energy > 0:
        scale = np.float32(1 / np.sqrt(energy))
        for i in range(n):
            data[i] *= scale
    return n


@kernel
def linear_codes(values, coder):
    """values @ coder; a row depends on no other row."""
    out = np.zeros((values.shape[0], coder.shape[1]), np.float32)
    for i in range(values.shape[0]):
        row = out[i]
        for d in range(values.shape[1]):
            value, weights = values[i, d], coder[d]
            for n in range(row.size):
                row[n] += value * weights[n]
    return out


@kernel
def cell_means(values, cells, n_cells):
    """The mean of the values in each cell; zero where there are none."""
    out, members = np.zeros((n_cells, values.shape[1]), np.float32), np.zeros(n_cells, np.float32)
    for i in range(values.shape[0]):
        members[cells[i]] += 1
        for n in range(values.shape[1]):
            out[cells[i], n] += values[i, n]
    for cell in range(n_cells):
        if members[cell] > 0:
            for n in range(values.shape[1]):
                out[cell, n] /= members[cell]
    return out


@kernel
def attribute(indices, values, cells, maximum, minimum, max_coef, min_coef, shares):
    """shares[i, n] = part of Σ max_coef·maximum + min_coef·minimum that code n of descriptor i attained.

    Of descriptors with equal codes the first takes all; entries held at zero by absent codes are no one's.
    """
    max_open, min_open = np.ones(maximum.shape, np.bool_), np.ones(maximum.shape, np.bool_)
    shares[:] = 0
    for i in range(indices.shape[0]):
        for level in range(cells.shape[1]):
            cell = cells[i, level]
            for n in range(indices.shape[1]):
                atom, value = indices[i, n], values[i, n]
                if max_open[cell, atom] and value == maximum[cell, atom]:
                    shares[i, n] += max_coef[cell, atom] * value
                    max_open[cell, atom] = False
                if min_open[cell, atom] and value == minimum[cell, atom]:
                    shares[i, n] += min_coef[cell, atom] * value
                    min_open[cell, atom] = False
