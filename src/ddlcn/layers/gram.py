"""Products of sparse rows in dense arrays: X Xᵀ, and Xᵀ B. Rows are at hand a piece at a time."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from ddlcn.kernels import svm as kernels
from ddlcn.layers.rows import Block, Rows

_HEAVY = 1 / 8  # share of rows that have a column, from which a dense product is the faster way
_STRIPES = 16  # of a Gram matrix, shared out among threads; fixed, as last digits depend on it
_DENSE_ENTRIES = 4_000_000  # of columns that are multiplied at a time: 16 MB, or a quarter of the result
_LISTED_ENTRIES = 1_000_000  # of columns that are listed at a time: 8 MB, or a quarter of the result


def gram_matrix(parts: Sequence[Rows], n_jobs: int | None, columns: slice = slice(None)) -> np.ndarray:
    """X Xᵀ + 1 for the rows of all parts, or for some of their columns, in the precision of X.

    Some columns at a time, of all rows: as a dense block those that many rows have, others by entries.
    Threads share out stripes of the products, so that there is one matrix whatever their number.
    """
    n_rows, counts = sum(part.shape[0] for part in parts), np.zeros(parts[0].shape[1], np.int32)
    for piece in _pieces(parts):
        kernels.count_columns(piece.indptr, piece.indices, counts)
        del piece  # makes room for the next, as below
    first, stop, _ = columns.indices(len(counts))
    counts[:first] = counts[stop:] = 0
    heavy = counts >= _HEAVY * n_rows
    light, gram = np.where(heavy, 0, counts), np.ones((n_rows, n_rows), parts[0].dtype)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for some in _cut(heavy, max(256, _DENSE_ENTRIES // n_rows, n_rows // 4)):
            _add_dense(parts, some, heavy, gram, parallel)
        for some in _cut(light, max(_LISTED_ENTRIES, gram.size // 8)):
            _add_listed(parts, some, light, gram, parallel)
        parallel(delayed(_mirror)(stripe, gram) for stripe in _stripes(n_rows))
    return gram


def _pieces(parts: Sequence[Rows]) -> Iterator[Block]:
    """All rows of all parts, counted on."""
    start = 0
    for part in parts:
        for piece in part.pieces():
            yield piece._replace(first=start + piece.first)
            del piece
        start += part.shape[0]


def _add_dense(
    parts: Sequence[Rows], some: range, heavy: np.ndarray, gram: np.ndarray, parallel: Parallel
) -> None:
    """Add the products of the heavy ones of some columns to the upper triangle, at least."""
    wanted = heavy[some.start : some.stop]
    places, dense = (
        np.where(wanted, np.cumsum(wanted) - 1, -1),
        np.zeros((len(gram), wanted.sum()), gram.dtype),
    )
    for piece in _pieces(parts):
        kernels.dense_columns(*piece, some.start, places, dense)
        del piece
    parallel(delayed(_multiply)(stripe, dense, gram) for stripe in _stripes(len(gram)))


def _multiply(stripe: slice, dense: np.ndarray, gram: np.ndarray) -> None:
    gram[stripe, stripe.start :] += dense[stripe] @ dense[stripe.start :].T


def _add_listed(
    parts: Sequence[Rows], some: range, light: np.ndarray, gram: np.ndarray, parallel: Parallel
) -> None:
    """Add the products of the light ones of some columns to the upper triangle."""
    lists = _listed(_pieces(parts), some.start, light[some.start : some.stop], gram.dtype)
    parallel(
        delayed(kernels.add_listed_products)(lists, stripe.start, gram[stripe])
        for stripe in _stripes(len(gram))
    )


def _listed(pieces: Iterable[Block], start: int, counts: np.ndarray, dtype: np.dtype) -> tuple:
    """Rows by column, of those from `start` that count any: where each list begins, rising rows, values."""
    heads = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=heads[1:])
    place, rows, values = heads[:-1].copy(), np.empty(heads[-1], np.int32), np.empty(heads[-1], dtype)
    for piece in pieces:
        kernels.list_columns(*piece, start, counts, place, rows, values)
        del piece
    return heads, rows, values


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
    weights = np.ascontiguousarray(duals.T, rows.dtype)
    out = _zeros(rows.shape[1], weights.shape[1], rows.dtype)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for piece in rows.pieces():
            counts = np.zeros(len(out), np.int32)
            kernels.count_columns(piece.indptr, piece.indices, counts)
            lists = _listed([piece], 0, counts, rows.dtype)
            parallel(
                delayed(kernels.add_weighted_sums)(stripe.start, stripe.stop, lists, weights, out)
                for stripe in _stripes(len(out))
            )
            del piece, lists  # makes room for the next
    return out


def _zeros(height: int, width: int, dtype: np.dtype) -> np.ndarray:
    """Zeros that take memory where they are written, by pages; NumPy's take it by 2 MB at once.

    Many columns are in no row: of faces with little shade, half.
    """
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, max(1, height * width * dtype.itemsize), **private)
    except OSError as error:
        raise MemoryError(f"no room for {height} x {width} weights: {error}") from None
    return np.frombuffer(memory, dtype, height * width).reshape(height, width)


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
