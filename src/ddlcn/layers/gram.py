"""Products of sparse rows in dense arrays: X Xᵀ, Xᵀ B and X B. Rows are at hand a piece at a time.

A large result is in a temporary file, and mapped.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, issparse

from ddlcn.kernels import svm as kernels
from ddlcn.layers.growing import Growing, forget, is_mapped
from ddlcn.layers.rows import Block, Rows, canonical

_HEAVY = 1 / 8  # share of rows that have a column, from which a dense product is the faster way
_STRIPES = 16  # of a Gram matrix, shared out among threads; fixed, as last digits depend on it
_FIRST = 5  # of these have half of what is above the diagonal, together
_LARGE = 1 << 24  # entries of a Gram matrix, beyond which it is in a file: 64 MB
_HELD = 1 << 21  # of weights: 8 MB
_WIDTH = 2048  # lines of a dense array that a stripe is multiplied with at a time
_DENSE_ENTRIES = 4_000_000  # of columns that are multiplied at a time: 16 MB, or a quarter of the result
_LISTED_ENTRIES = 1_000_000  # of columns that are listed at a time: 8 MB, or a share of all there is
_LISTED_OF_STORE = 1 << 24  # where rows are read again each time: 128 MB
_ANSWERING = 1_000_000  # weights at a time: 4 MB

Stripe = tuple[slice, np.ndarray]  # of a Gram matrix: some of its lines


def gram_matrix(parts: Sequence[Rows], n_jobs: int | None, columns: slice = slice(None)) -> np.ndarray:
    """X Xᵀ + 1 for the rows of all parts, or for some of their columns, in the precision of X.

    Some columns at a time, of all rows: as a dense block those that many rows have, others by entries.
    Threads share out stripes of the products, so that there is one matrix whatever their number. A large one
    is made half by half, unless rows must be read again for that.
    """
    n_rows, counts, dtype = sum(part.shape[0] for part in parts), _counts(parts), parts[0].dtype
    first, stop, _ = columns.indices(len(counts))
    counts[:first] = counts[stop:] = 0
    heavy = counts >= _HEAVY * n_rows
    light, is_large = np.where(heavy, 0, counts), n_rows**2 > _LARGE
    gram, file = _zeros(0 if is_large else n_rows, n_rows, dtype), Growing(np.empty(0, dtype), most=0)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        every = _stripes(n_rows)
        half = _FIRST if is_large and all(part.are_near for part in parts) else len(every)
        for stripes in filter(None, (every[:half], every[half:])):
            upper = [(s, _zeros(s.stop - s.start, n_rows, dtype) if is_large else gram[s]) for s in stripes]
            for stripe, lines in upper:
                lines[:, stripe.start :] = 1
            for some in _cut(heavy, max(256, _DENSE_ENTRIES // n_rows, n_rows // 4)):
                _add_dense(parts, some, heavy, upper, parallel)
            for some in _cut(light, max(_LISTED_ENTRIES, n_rows**2 // 8)):
                _add_listed(parts, some, light, upper, parallel)
            while upper:
                _complete(*upper[0], gram)
                if is_large:
                    file.add(upper[0][1].ravel())
                    gram = file.values.reshape(-1, n_rows)
                del upper[0]
    return gram


def _counts(parts: Sequence[Rows]) -> np.ndarray:
    """In how many rows each column is."""
    counts = np.zeros(parts[0].shape[1], np.int32)
    for piece in _pieces(parts):
        kernels.count_columns(piece.indptr, piece.indices, counts)
        del piece  # makes room for the next, as below
    return counts


def _pieces(parts: Sequence[Rows]) -> Iterator[Block]:
    """All rows of all parts, counted on."""
    start = 0
    for part in parts:
        for piece in part.pieces():
            yield piece._replace(first=start + piece.first)
            del piece
        start += part.shape[0]


def _add_dense(
    parts: Sequence[Rows], some: range, heavy: np.ndarray, upper: list[Stripe], parallel: Parallel
) -> None:
    """Add the products of the heavy ones of some columns to the upper triangle, at least."""
    wanted, (_, lines) = heavy[some.start : some.stop], upper[0]
    places, dense = (
        np.where(wanted, np.cumsum(wanted) - 1, -1),
        np.zeros((lines.shape[1], wanted.sum()), lines.dtype),
    )
    for piece in _pieces(parts):
        kernels.dense_columns(*piece, some.start, places, dense)
        del piece
    parallel(delayed(_multiply)(dense, *stripe) for stripe in upper)


def _multiply(dense: np.ndarray, stripe: slice, lines: np.ndarray) -> None:
    for start in range(stripe.start, len(dense), _WIDTH):
        some = slice(start, start + _WIDTH)
        lines[:, some] += dense[stripe] @ dense[some].T


def _add_listed(
    parts: Sequence[Rows], some: range, light: np.ndarray, upper: list[Stripe], parallel: Parallel
) -> None:
    """Add the products of the light ones of some columns to the upper triangle."""
    lists = _listed(_pieces(parts), some.start, light[some.start : some.stop], upper[0][1].dtype)
    parallel(delayed(kernels.add_listed_products)(lists, stripe.start, lines) for stripe, lines in upper)


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


def _complete(stripe: slice, lines: np.ndarray, above: np.ndarray) -> None:
    """Mirror what is above the diagonal, in these lines and in those before them, to below it."""
    for start in range(0, stripe.start, len(lines)):
        some = slice(start, min(start + len(lines), stripe.start))
        lines[:, some] = above[some, stripe].T
        forget(above[some])
    corner = lines[:, stripe]
    lines[:, stripe] = np.triu(corner) + np.triu(corner, 1).T


def transposed_product(rows: Rows, duals: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Xᵀ dualsᵀ in the precision of X, some of its lines at a time; threads share these out."""
    weights = np.ascontiguousarray(duals.T, rows.dtype)
    counts, width = _counts([rows]), weights.shape[1]
    out = Growing(weights[:0].ravel(), most=_HELD)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        at_once = max(_LISTED_ENTRIES, rows.n_entries // 32) if rows.are_near else _LISTED_OF_STORE
        for some in _cut(counts + width, at_once):
            lists = _listed(rows.pieces(), some.start, counts[some.start : some.stop], rows.dtype)
            lines = np.zeros((len(some), width), rows.dtype)
            parallel(
                delayed(kernels.add_weighted_sums)(stripe.start, stripe.stop, lists, weights, lines)
                for stripe in _stripes(len(lines))
            )
            out.add(lines.ravel())
            del lists, lines  # makes room for the next
    found = out.values.reshape(-1, width)
    found.setflags(write=not is_mapped(found))  # or a forked process would write to all of them
    return found


def product(X: np.ndarray | csr_array, lines: np.ndarray) -> np.ndarray:
    """X B, for B a line for each column of X; of sparse X, some lines at a time, which are forgotten then."""
    if not issparse(X):
        return X @ lines
    rows = canonical(X)
    out = np.zeros((X.shape[0], lines.shape[1]), np.result_type(X.dtype, lines.dtype))
    for start in range(0, len(lines), size := max(1, _ANSWERING // lines.shape[1])):
        some = lines[start : start + size]
        kernels.add_products(rows.indptr, rows.indices, rows.data, start, some, out)
        forget(some)
    return out


def _zeros(height: int, width: int, dtype: np.dtype) -> np.ndarray:
    """Zeros that take memory where they are written, by pages; NumPy's take it by 2 MB at once."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, max(1, height * width * dtype.itemsize), **private)
    except OSError as error:
        raise MemoryError(f"no room for a matrix of {height} x {width}: {error}") from None
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
