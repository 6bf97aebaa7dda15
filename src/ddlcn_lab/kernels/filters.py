"""PCANet's kernels: filter, binarise and count; and the distance of two images' counts."""

import numpy as np

from ddlcn.kernels.compiled import kernel


@kernel
def convolve(image, filters, out):
    """out[f] = image correlated with each square filter f of odd side, zero beyond the border."""
    height, width = image.shape
    n, side = filters.shape[0], filters.shape[1]
    half = side // 2
    out[:] = 0
    for y in range(height):
        for f in range(n):
            for dy in range(max(0, half - y), min(side, height + half - y)):
                for dx in range(side):
                    tap, shift = filters[f, dy, dx], dx - half
                    source = image[y + dy - half, max(0, shift) :]  # a slice: no index wraps
                    target = out[f, y, max(0, -shift) :]
                    for x in range(width - abs(shift)):
                        target[x] += tap * source[x]


@kernel
def block_counts(maps, block, bins, counts, starts):
    """Counts of binary patterns, Σ_l 2^l·[maps[g, l] > 0], block by block and group by group.

    Entries starts[b] to starts[b + 1] have the patterns (`bins`) in block b, and their `counts`.
    """
    n_groups, n_bits, height, width = maps.shape
    seen = np.zeros(1 << n_bits, np.int64)
    n, b = 0, 0
    starts[0] = 0
    for g in range(n_groups):
        for top in range(0, height - block + 1, block):
            for left in range(0, width - block + 1, block):
                first = n
                for y in range(top, top + block):
                    for x in range(left, left + block):
                        pattern = 0
                        for bit in range(n_bits):
                            if maps[g, bit, y, x] > 0:
                                pattern |= 1 << bit
                        if seen[pattern] == 0:
                            bins[n] = pattern
                            n += 1
                        seen[pattern] += 1
                for e in range(first, n):
                    counts[e] = seen[bins[e]]
                    seen[bins[e]] = 0
                b += 1
                starts[b] = n
    return n


@kernel
def chi_square_distances(dense, bins, counts, offsets, starts, table, unit):
    """Σ (a − b)²/(a + b) of one image's dense counts (blocks, bins) to each image's sparse ones.

    table[a, b] = 4ab/(a + b) in whole `unit`s, so that a block is Σ_b + Σ_a − Σ table: only patterns of
    both count, and integer sums are exact in any order.
    """
    n_images, n_blocks = starts.shape[0], starts.shape[1] - 1
    out = np.empty(n_images)
    total = 0.0
    for b in range(n_blocks):
        for pattern in range(dense.shape[1]):
            total += dense[b, pattern]
    for i in range(n_images):
        same = 0
        for b in range(n_blocks):
            row = dense[b]
            for e in range(offsets[i] + starts[i, b], offsets[i] + starts[i, b + 1]):
                same += table[row[bins[e]], counts[e]]
        out[i] = 2 * total - same * unit
    return out
