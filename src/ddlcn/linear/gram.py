"""Gram matrix of sparse rows, and the SVM solved on it: the faster way if rows are few and long.

Products of sparse rows go by blocks of columns. Columns that many rows have are copied to a dense block, others to
lists of their entries. Threads share out stripes of fixed size, so results do not depend on their number.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from ddlcn.blas import one_blas_thread
from ddlcn.kernels import svm as kernels
from ddlcn.linear.dual import MAX_ROUNDS, WORTH_THREADS, Solution, Task, ridge_of
from ddlcn.linear.threads import map_threads

_HEAVY = 1 / 5  # share of rows that have a column, from which a dense product is the faster way
_STRIPES = 16
_CACHED = 1_000_000  # numbers of a dense matrix that stay in the cache
_DENSE_ENTRIES = 4_000_000  # of a dense block, unless a quarter of the Gram matrix is larger
_LISTED_ENTRIES = 1_000_000  # of lists, unless an eighth of the Gram matrix is larger


def canonical(X: Any) -> csr_array:
    """X as a csr_array whose indices ascend within a row, each column once; not copied if it is one."""
    X = X if isinstance(X, csr_array) else csr_array(X)  # which remembers that it is canonical
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def gram_matrix(
    X: csr_array, n_jobs: int | None = None, rows: np.ndarray | None = None, columns: slice | None = None
) -> np.ndarray:
    """X Xᵀ in the precision of X.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_features)
        Its arrays may be views of np.memmap.
    n_jobs : int or None
        Threads; the result does not depend on it.
    rows : array of int, optional
        Numbers of the rows to use; all if not given.
    columns : slice, optional
        Columns to use, from a start to a stop; all if not given.

    Returns
    -------
    array of shape (n_rows, n_rows)

    Examples
    --------
    >>> gram_matrix(csr_array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]])).tolist()
    [[5.0, 6.0], [6.0, 10.0]]
    """
    X = canonical(X)
    entries, counts = _entries(X, slice(None) if rows is None else rows, columns)
    n = len(entries[0])
    gram, stripes, heavy = np.zeros((n, n), X.dtype), _stripes(n), counts >= max(1, _HEAVY * n)
    light = np.where(heavy, 0, counts)
    n_jobs = n_jobs if n >= WORTH_THREADS else 1
    with one_blas_thread():
        for start, stop in _blocks(heavy, max(256, _DENSE_ENTRIES // n, n // 4)):
            dense = _dense(entries, start, heavy[start:stop])
            map_threads(_add_dense, ((dense, stripe, gram[stripe]) for stripe in stripes), n_jobs)
        for start, stop in _blocks(light, max(_LISTED_ENTRIES, n**2 // 8)):
            own = _columns(entries, start, light[start:stop])
            listed = own.indptr, own.indices, own.data
            calls = ((*listed, stripe.start, gram[stripe]) for stripe in stripes)
            map_threads(kernels.add_listed_products, calls, n_jobs)
        map_threads(_mirror, ((gram, stripe) for stripe in stripes), n_jobs)
    return gram


def transposed_product(X: csr_array, B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Xᵀ B in the precision of X, for a dense B with a row for each row of X; the same for any number of threads."""
    (entries, counts), B = _entries(X, slice(None)), np.ascontiguousarray(B, X.dtype)
    out = np.zeros((X.shape[1], B.shape[1]), X.dtype)
    for start, stop in _blocks(counts, max(_LISTED_ENTRIES, X.nnz // 32)):
        columns = _columns(entries, start, counts[start:stop]).T
        parts = map_threads(_stripe_product, ((columns, stripe, B) for stripe in _stripes(stop - start)), n_jobs)
        np.concatenate(parts, out=out[start:stop])
    return out


def product(X: csr_array, B: np.ndarray) -> np.ndarray:
    """X B, row by row: no row depends on the others. Some lines of B at a time, so that these stay in the cache."""
    X = canonical(X)
    out = np.zeros((X.shape[0], B.shape[1]), np.result_type(X.dtype, B.dtype))
    for start in range(0, len(B), lines := max(1, _CACHED // B.shape[1])):
        kernels.add_products(X.indptr, X.indices, X.data, start, B[start : start + lines], out)
    return out


def solve(gram: np.ndarray, task: Task) -> Iterator[Solution]:
    """Solve for one class on X Xᵀ, to which nothing was added for the bias; a solution for each C."""
    signs, weights, grid, scored, tol, seed = task
    alphas, scores, random = np.zeros(len(gram)), np.zeros(len(gram)), kernels.xorshift_state(seed)
    for C in grid:
        costs = C * weights
        ridge = ridge_of(costs)
        for _ in range(MAX_ROUNDS):
            gap = kernels.gram_round(gram, signs, costs, ridge, alphas, scores, random, float(tol))
            if gap <= tol:
                break
        yield Solution(signs * alphas, float(signs @ alphas), gap, scores[scored])


def _entries(
    X: csr_array, rows: slice | np.ndarray, columns: slice | None = None
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Where rows, cut to some columns, start and stop, and the entries of X; and how many of them have each column."""
    starts, stops = X.indptr[:-1][rows], X.indptr[1:][rows]
    if columns is not None:
        ends = np.array((columns.start, columns.stop), X.indices.dtype)
        parts = [X.indices[start:stop] for start, stop in zip(starts, stops, strict=True)]
        places = np.array([np.searchsorted(part, ends) for part in parts], X.indptr.dtype)
        starts, stops = starts + places[:, 0], starts + places[:, 1]
    entries = starts, stops, X.indices, X.data
    kernels.count_columns(*entries[:3], counts := np.zeros(X.shape[1], np.int32))
    return entries, counts


def _columns(entries: tuple[np.ndarray, ...], start: int, counts: np.ndarray) -> csc_array:
    """The columns from `start` on; those with a count of zero are left empty."""
    heads = np.concatenate([[0], np.cumsum(counts)])
    rows, values = np.empty(heads[-1], np.int32), np.empty(heads[-1], entries[3].dtype)
    kernels.list_columns(*entries, start, counts, heads[:-1].copy(), rows, values)
    return csc_array((values, rows, heads), shape=(len(entries[0]), len(counts)))


def _dense(entries: tuple[np.ndarray, ...], start: int, wanted: np.ndarray) -> np.ndarray:
    """Those columns from `start` on that are wanted, as a dense array."""
    places = np.where(wanted, np.cumsum(wanted) - 1, -1)
    out = np.zeros((len(entries[0]), np.count_nonzero(wanted)), entries[3].dtype)
    kernels.fill_columns(*entries, start, places, out)
    return out


def _add_dense(dense: np.ndarray, stripe: slice, lines: np.ndarray) -> None:
    lines[:, stripe.start :] += dense[stripe] @ dense[stripe.start :].T


def _stripe_product(columns: csr_array, stripe: slice, B: np.ndarray) -> np.ndarray:
    return columns[stripe] @ B


def _mirror(gram: np.ndarray, stripe: slice) -> None:
    """Copy the upper triangle to the lower one."""
    gram[stripe, : stripe.start] = gram[: stripe.start, stripe].T
    corner = gram[stripe, stripe]
    gram[stripe, stripe] = np.triu(corner) + np.triu(corner, 1).T


def _stripes(n: int) -> list[slice]:
    height = max(32, -(-n // _STRIPES))
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _blocks(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Ranges of columns whose sizes add up to about that; none of size zero.

    >>> _blocks(np.array([2, 2, 0, 5, 0, 1, 1]), 4)
    [(0, 2), (2, 4), (4, 7)]
    """
    before = np.cumsum(sizes, dtype=np.int64) - sizes
    cuts = [0, *(np.flatnonzero(np.diff(before // most)) + 1).tolist(), len(sizes)]
    return [(start, stop) for start, stop in pairwise(cuts) if sizes[start:stop].any()]
