"""Products of sparse rows in dense arrays, two blocks of rows at hand at a time: X Xᵀ, and Xᵀ B."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ddlcn.kernels import svm as kernels
from ddlcn.layers.rows import Block, Rows

_HEAVY = 1 / 8  # share of rows that have a column, from which a dense product is the faster way
_STRIPES = 16  # of a Gram matrix, shared out among threads; fixed, as last digits depend on it
_ROWS_ENTRIES = 1 << 22  # of a block of rows: 32 MB
_BLOCK_ENTRIES = 4_000_000  # of dense columns of a block


def gram_matrix(parts: Sequence[Rows], n_jobs: int | None, columns: slice = slice(None)) -> np.ndarray:
    """X Xᵀ + 1 for the rows of all parts, or for some of their columns, in the precision of X.

    By dense blocks of columns that many rows have, of others by entries. Threads share out stripes of the
    products of two blocks, so that there is one matrix whatever their number.
    """
    n_rows, counts = sum(part.shape[0] for part in parts), np.zeros(parts[0].shape[1], np.int64)
    for block in _blocks(parts):
        _count_columns(block, counts)
        del block  # makes room for the next, as below
    first, stop, _ = columns.indices(len(counts))
    counts[:first] = counts[stop:] = 0
    heavy = counts >= _HEAVY * n_rows
    light, gram = (counts > 0) & ~heavy, np.ones((n_rows, n_rows), parts[0].dtype)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for left in _blocks(parts):
            lists = parallel(
                delayed(_listed)(left, light, stripe) for stripe in _stripes(left.stop - left.first)
            )
            for right in chain([left], _blocks(parts, left.stop)):
                out = gram[left.first : left.stop, right.first : right.stop]
                same = left.first == right.first
                _add_dense(left, right, heavy, same, out, parallel)
                _add_sparse(lists, _listed(right, light), same, out, parallel)
                del right
            del left, lists
        parallel(delayed(_mirror)(stripe, gram) for stripe in _stripes(n_rows))
    return gram


def _blocks(parts: Sequence[Rows], first: int = 0) -> Iterator[Block]:
    """All rows of all parts, counted on, from the block on that begins with row `first`."""
    start = 0
    for part in parts:
        for block in part.blocks(max(0, first - start), _ROWS_ENTRIES):
            yield block._replace(first=start + block.first)
            del block
        start += part.shape[0]


def _count_columns(block: Block, counts: np.ndarray) -> None:
    """Add in how many rows of a block each column is."""
    own = block.indices[block.indptr[0] : block.indptr[-1]]
    for start in range(0, len(own), _BLOCK_ENTRIES):  # some at a time, for they are widened
        counts += np.bincount(own[start : start + _BLOCK_ENTRIES], minlength=len(counts))


def _add_dense(
    left: Block, right: Block, heavy: np.ndarray, same: bool, out: np.ndarray, parallel: Parallel
) -> None:
    """Add the products of the heavy columns of two blocks; of the same, the upper triangle at least."""

    def for_stripes(do: Callable[..., None], n_rows: int, *given: Any) -> None:
        parallel(delayed(do)(stripe, *given) for stripe in _stripes(n_rows))

    for columns in _cut(heavy, max(256, _BLOCK_ENTRIES // max(out.shape))):
        chosen = heavy[columns.start : columns.stop]
        dense = []
        for block in (left,) if same else (left, right):
            dense.append(np.zeros((len(block.indptr) - 1, chosen.sum()), out.dtype))
            for_stripes(_fill, len(dense[-1]), block, columns, chosen, dense[-1])
        for_stripes(_multiply, len(out), dense[0], dense[-1], same, out)


def _multiply(stripe: slice, left: np.ndarray, right: np.ndarray, same: bool, out: np.ndarray) -> None:
    start = stripe.start if same else 0
    out[stripe, start:] += left[stripe] @ right[start:].T


def _add_sparse(lists: list[tuple], right: tuple, same: bool, out: np.ndarray, parallel: Parallel) -> None:
    """Add the products of light columns, of which there are lists for each stripe, and for all of `right`."""
    parallel(
        delayed(kernels.add_listed_products)(left, right, stripe.start, same, out[stripe])
        for left, stripe in zip(lists, _stripes(len(out)), strict=True)
    )


def _listed(block: Block, wanted: np.ndarray, stripe: slice = slice(None)) -> tuple:
    """Rows of a block by wanted columns; those of a stripe are counted from its first."""
    indptr = block.indptr if stripe.stop is None else block.indptr[stripe.start : stripe.stop + 1]
    return kernels.column_lists(indptr, block.indices, block.data, wanted)


def _stripes(n_rows: int) -> list[slice]:
    height = max(32, -(-n_rows // _STRIPES))
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _mirror(stripe: slice, gram: np.ndarray) -> None:
    """The lower triangle, from the upper."""
    gram[stripe.stop :, stripe] = gram[stripe, stripe.stop :].T
    corner = gram[stripe, stripe]
    gram[stripe, stripe] = np.triu(corner) + np.triu(corner, 1).T


def transposed_product(rows: Rows, duals: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Xᵀ dualsᵀ in the precision of X; threads share out stripes of its columns."""
    weights, every = np.ascontiguousarray(duals.T, rows.dtype), np.ones(rows.shape[1], np.bool_)
    out = np.zeros((rows.shape[1], weights.shape[1]), rows.dtype)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for block in rows.blocks(most=_ROWS_ENTRIES):
            given = (_listed(block, every), weights[block.first : block.stop], out)
            parallel(
                delayed(kernels.add_weighted_sums)(stripe.start, stripe.stop, *given)
                for stripe in _stripes(len(out))
            )
            del block, given  # makes room for the next
    return out


def _fill(stripe: slice, block: Block, columns: range, wanted: np.ndarray, dense: np.ndarray) -> None:
    """Put the wanted ones of some columns, whose indices are sorted, into some rows of a dense block."""
    places = np.where(wanted, np.cumsum(wanted) - 1, -1)
    indptr = block.indptr[stripe.start : stripe.stop + 1]
    kernels.dense_columns(indptr, block.indices, block.data, columns.start, places, dense[stripe])


def _cut(sizes: np.ndarray, most: int) -> list[range]:
    """Columns in ranges whose sizes add up to no more than that, unless one alone does; none of size zero.

    >>> _cut(np.array([2, 2, 0, 5, 0, 1, 1]), 4)
    [range(0, 3), range(3, 4), range(4, 7)]
    """
    ends, cuts = np.cumsum(sizes), [0]
    while cuts[-1] < len(sizes):
        start = cuts[-1]
        before = ends[start - 1] if start else 0
        cuts.append(max(start + 1, int(np.searchsorted(ends, before + most, side="right"))))
    return [range(start, stop) for start, stop in pairwise(cuts) if sizes[start:stop].any()]
