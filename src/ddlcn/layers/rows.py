"""Sparse rows, block by block: what the SVM is trained on, in memory or not.

Where a block ends depends on the rows alone, never on where they are kept, so neither do answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from ddlcn.kernels import svm as kernels
from ddlcn.layers.growing import IN_REACH, Growing, forget, is_mapped

ROOM = 1 << 20  # entries of rows that training holds in memory: 8 MB
ASKED_ROOM = 1 << 18  # of those that settings are judged by: 2 MB
_MOST_ENTRIES = 1 << 24  # of a block, or of rows that are gathered
_PIECE_ENTRIES = 1 << 18  # of a piece: 2 MB
_AT_ONCE = 32  # rows that are looked up
_LONG = 1 << 11  # entries of a row, from which it costs little to look at it where it is in a file


class Block(NamedTuple):
    """Some rows: the three arrays of a CSR matrix, whose first row is number `first`."""

    first: int
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    @property
    def stop(self) -> int:
        """One more than the number of the last row."""
        return self.first + len(self.indptr) - 1

    def pieces(self) -> Iterator[Block]:
        """The rows, fewer at a time."""
        for start, stop in pairwise(cuts(np.diff(self.indptr), _PIECE_ENTRIES)):
            yield self._replace(first=self.first + start, indptr=self.indptr[start : stop + 1])

    def among(self, marks: np.ndarray) -> np.ndarray:
        """The numbers of those rows of the block that are marked, of marks of all rows."""
        return self.first + np.flatnonzero(marks[self.first : self.stop])


class Gathered(NamedTuple):
    """Rows at hand."""

    lines: range  # of the marks that asked for them
    numbers: slice | np.ndarray  # which of all rows they are
    block: Block  # in which they are counted from zero


class Rows(Protocol):
    """Rows in memory, or in a store."""

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Of the entries."""
        ...

    @property
    def n_entries(self) -> int:
        """Of all rows."""
        ...

    @property
    def are_few(self) -> bool:
        """Whether all rows are at hand in memory, so that a block or gathered ones take no more."""
        ...

    @property
    def are_near(self) -> bool:
        """Whether all rows are in memory or in a mapped file, so that to go through them costs little."""
        ...

    @property
    def squares(self) -> np.ndarray:
        """Squared lengths."""
        ...

    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""
        ...

    def pieces(self, block: Block | None = None) -> Iterator[Block]:
        """All rows, or those of a block, in order, fewer at a time; no answer depends on where one ends."""
        ...

    def gather(self, marks: np.ndarray) -> Iterator[Gathered]:
        """The rows that lines of marks (k, n) mark, at hand for some lines at a time."""
        ...

    def in_reach(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Numbers of rows of a block, or of gathered ones, in their order, some at a time to be looked at."""
        ...

    def __getitem__(self, numbers: np.ndarray) -> csr_array:
        """Some rows, by their numbers in rising order, in memory."""
        ...

    def add(self, parts: Iterable[Any]) -> Rows:
        """These rows and then more, of the same home; without what had been read of them."""
        ...

    def load(self) -> csr_array:
        """All rows at once, in memory."""
        ...


class MemoryRows:
    """Rows in memory; a block is a view.

    Parameters
    ----------
    X : CSR array
    room : int, optional
        When more rows are added, the entries that are held. Of more, all are in a temporary file that is
        mapped into memory, and blocks are forgotten when they have been gone through.

    >>> MemoryRows(csr_array([[0, 5]])).add(csr_array([[0, n]]) for n in (6, 7)).load().toarray().tolist()
    [[0, 5], [0, 6], [0, 7]]
    """

    def __init__(self, X: csr_array, room: int | None = None) -> None:
        self.X, self.room = canonical(X), room
        self._ours: list[Growing] | None = None  # the arrays of X, if it is the only one to have them

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self.X.shape

    @property
    def dtype(self) -> np.dtype:
        """Of the entries."""
        return self.X.dtype

    @property
    def n_entries(self) -> int:
        """Of all rows."""
        return self.X.nnz

    def __getitem__(self, numbers: np.ndarray) -> csr_array:
        """Some rows, by their numbers in rising order, in memory."""
        if self.are_few:
            return self.X[numbers]
        starts = cuts(entries := np.diff(self.X.indptr), _MOST_ENTRIES // 8)  # a copy of a part is held too

        def take(part: int, places: np.ndarray) -> csr_array:
            found = self.X[starts[part] + places]
            self._forget(starts[part], starts[part + 1])
            return found

        _, indptr, indices, data = collect(numbers, np.array(starts), entries, self.dtype, take)
        return csr_array((data, indices, indptr), shape=(len(numbers), self.shape[1]))

    def add(self, parts: Iterable[csr_array]) -> MemoryRows:
        """These rows, which are used up, and then more; arrays grow in place, so nothing is held twice."""
        arrays = self._ours or [Growing(array, self.room) for array in (self.X.indices, self.X.data)]
        n_columns, lengths = self.X.shape[1], [np.diff(self.X.indptr)]
        del self.X  # it has views of the arrays, which may move
        for part in map(canonical, parts):
            for array, more in zip(arrays, (part.indices, part.data), strict=True):
                array.add(more)
            lengths.append(np.diff(part.indptr))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        indices, data = (array.values for array in arrays)
        if indptr[-1] < 2**31:  # else SciPy would widen the indices too
            indptr = indptr.astype(indices.dtype)
        grown = csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
        grown.has_canonical_format = True  # as its parts are; to see for oneself would read all of them
        found = MemoryRows(grown, self.room)
        found._ours = arrays if np.may_share_memory(grown.indices, indices) else None
        return found

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared lengths."""
        found = [kernels.squared_lengths(piece.indptr, piece.data) for piece in self.pieces()]
        return np.concatenate(found)

    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""
        for start, stop in pairwise(cuts(np.diff(self.X.indptr))):
            yield self._whole._replace(first=start, indptr=self.X.indptr[start : stop + 1])
            self._forget(start, stop)

    def pieces(self, block: Block | None = None) -> Iterator[Block]:
        """All rows, or those of a block, in order, fewer at a time."""
        for piece in (block or self._whole).pieces():
            yield piece
            self._forget(piece.first, piece.stop)

    def gather(self, marks: np.ndarray) -> Iterator[Gathered]:
        """All rows for all lines; or, if they are in a file and short, those that some lines need."""
        if self.are_few or self._are_long:
            yield Gathered(range(len(marks)), slice(None), self._whole)
        else:
            for lines, wanted in together(marks, np.diff(self.X.indptr)):
                X = self[numbers := np.flatnonzero(wanted)]
                yield Gathered(lines, numbers, Block(0, X.indptr, X.indices, X.data))
                del X  # makes room for the next, if whoever has it lets go too

    def in_reach(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """All numbers; or, if rows are in a file and long, some at a time, which are forgotten then."""
        if self.are_few or not self._are_long:
            yield order
        else:
            for start in range(0, len(order), IN_REACH):
                yield order[start : start + IN_REACH]
                self._forget(0, self.shape[0])

    def load(self) -> csr_array:
        """All rows."""
        return self.X

    @property
    def are_few(self) -> bool:
        """Whether all rows are in memory, not in a file."""
        return not is_mapped(self.X.indices)

    @property
    def are_near(self) -> bool:
        """Always."""
        return True

    @property
    def _are_long(self) -> bool:
        return self.n_entries >= _LONG * self.shape[0]

    @property
    def _whole(self) -> Block:
        return Block(0, self.X.indptr, self.X.indices, self.X.data)

    def _forget(self, first: int, stop: int) -> None:
        """Give back the memory of some rows, if they are in a file."""
        if not self.are_few:
            for array in (self.X.indices, self.X.data):
                forget(array[self.X.indptr[first] : self.X.indptr[stop]])


def some_rows(rows: Rows, numbers: np.ndarray, room: int) -> MemoryRows:
    """Some rows by themselves, by their numbers in rising order: in memory as far as there is room."""
    taken = in_turn(rows, numbers)
    return MemoryRows(next(taken), room).add(taken)


def in_turn(rows: Rows, numbers: np.ndarray) -> Iterator[csr_array]:
    """Some rows, a few at a time."""
    return (rows[few] for few in np.array_split(numbers, -(-len(numbers) // _AT_ONCE)))


def canonical(X: csr_array) -> csr_array:
    """The same rows, their entries in order and no column twice."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def collect(
    numbers: np.ndarray,
    starts: np.ndarray,
    entries: np.ndarray,
    dtype: np.dtype,
    take: Callable[[int, np.ndarray], csr_array],
) -> Block:
    """The rows of some numbers, counted from zero; `take` gives rows of a part, by their places in it."""
    indptr = np.concatenate([[0], np.cumsum(entries[numbers])]).astype(np.int32)
    block = Block(0, indptr, np.empty(indptr[-1], np.int32), np.empty(indptr[-1], dtype))
    for part, (low, high) in enumerate(pairwise(np.searchsorted(numbers, starts))):
        if low < high:
            found, place = take(part, numbers[low:high] - starts[part]), slice(indptr[low], indptr[high])
            block.indices[place], block.data[place] = found.indices, found.data
    return block


def together(marks: np.ndarray, entries: np.ndarray) -> Iterator[tuple[range, np.ndarray]]:
    """Lines of marks, as many at a time as there is room for the rows that any of them marks; and these."""
    start = 0
    while start < len(marks):
        stop, wanted = start + 1, marks[start]
        while stop < len(marks) and entries[wanted | marks[stop]].sum() <= _MOST_ENTRIES:
            stop, wanted = stop + 1, wanted | marks[stop]
        yield range(start, stop), wanted
        start = stop


def cuts(entries: np.ndarray, most: int | None = None) -> list[int]:
    """Where blocks begin, and the end, for rows of so many entries.

    >>> cuts(np.array([5, 5, 1 << 24, 7]))
    [0, 2, 3, 4]
    """
    most = most or _MOST_ENTRIES
    ends, found = np.cumsum(entries, dtype=np.int64), [0]
    while found[-1] < len(entries):
        start = found[-1]
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + most, side="right"))
        found.append(max(stop, start + 1))
    return found
