"""Sparse rows in a store, for an SVM on more of them than memory holds; blocks are those of memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from threading import RLock
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from ddlcn.kernels import svm as kernels
from ddlcn.layers.rows import ROOM, Block, Gathered, MemoryRows, collect, cuts, together
from ddlcn.store import Store

_NEAR_ENTRIES = 1 << 26  # that are copied to memory, or a temporary file, at the first look: 512 MB


class StoredRows:
    """Rows in units of a store, read a block at a time; or, unless they are very many, from a near copy."""

    def __init__(self, store: Store, names: list[str], shape: tuple[int, int]) -> None:
        self.store, self.names, self.shape = store, names, shape
        self._lock = RLock()

    def __getitem__(self, numbers: np.ndarray) -> csr_array:
        """Some rows, by their numbers in rising order, in memory."""
        _, indptr, indices, data = self._read(numbers)
        return csr_array((data, indices, indptr), shape=(len(numbers), self.shape[1]))

    def add(self, parts: Iterable[StoredRows]) -> StoredRows:
        """These rows and then more, of the same store; without what had been read of them."""
        every = [self, *parts]
        names = [name for part in every for name in part.names]
        return StoredRows(self.store, names, (sum(part.shape[0] for part in every), self.shape[1]))

    def load(self) -> csr_array:
        """All rows at once, in memory."""
        return vstack([self.store.read(name) for name in self.names], format="csr")

    @property
    def dtype(self) -> np.dtype:
        """Of the entries."""
        return self._facts.dtype

    @property
    def n_entries(self) -> int:
        """Of all rows."""
        return int(self._facts.entries.sum())

    @property
    def squares(self) -> np.ndarray:
        """Squared lengths."""
        return self._facts.squares

    @property
    def are_few(self) -> bool:
        """Whether all rows are kept in memory once they were read; to say so makes no copy."""
        return self.n_entries <= min(ROOM, _NEAR_ENTRIES)

    @property
    def are_near(self) -> bool:
        """Whether all rows are kept here once they were read."""
        return self.n_entries <= _NEAR_ENTRIES

    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""
        if self.are_near:
            yield from self._near.blocks()
        else:
            for start, stop in pairwise(cuts(self._facts.entries)):
                yield self._read(np.arange(start, stop))._replace(first=start)

    def pieces(self, block: Block | None = None) -> Iterator[Block]:
        """All rows, or those of a block, in order, fewer at a time; a unit of the store is read once."""
        if self.are_near:
            yield from self._near.pieces(block)
        elif block:
            yield from block.pieces()
        else:
            for start, name in zip(self._facts.starts, self.names, strict=False):
                unit = self.store.read(name)
                yield from Block(int(start), unit.indptr, unit.indices, unit.data).pieces()
                del unit

    def gather(self, marks: np.ndarray) -> Iterator[Gathered]:
        """All rows for all lines; or, if they are many, those that some lines need."""
        if self.are_near:
            yield from self._near.gather(marks)
        else:
            for lines, wanted in together(marks, self._facts.entries):
                yield Gathered(lines, numbers := np.flatnonzero(wanted), self._read(numbers))

    def in_reach(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """All numbers, as blocks and gathered rows are in memory; but what a near copy says of its own."""
        if self.are_near:
            yield from self._near.in_reach(order)
        else:
            yield order

    @property
    def _near(self) -> MemoryRows:
        with self._lock:
            return self._copy

    @cached_property
    def _copy(self) -> MemoryRows:
        parts = map(self.store.read, self.names)
        return MemoryRows(next(parts), ROOM).add(parts)

    @property
    def _facts(self) -> _Facts:
        with self._lock:
            return self._read_facts

    @cached_property
    def _read_facts(self) -> _Facts:
        lengths, entries, squares = [0], [], []
        for name in self.names:
            part = self.store.read(name)
            lengths.append(part.shape[0])
            entries.append(np.diff(part.indptr))
            squares.append(kernels.squared_lengths(part.indptr, part.data))
        counts = np.concatenate(entries)
        return _Facts(np.cumsum(lengths), counts, np.concatenate(squares), part.dtype)

    def _read(self, numbers: np.ndarray) -> Block:
        """The rows of some numbers, counted from zero."""
        starts, entries, _, dtype = self._facts

        def take(part: int, places: np.ndarray) -> csr_array:
            found = self.store.read(self.names[part])
            return found if len(places) == found.shape[0] else found[places]

        return collect(numbers, starts, entries, dtype, take)


class _Facts(NamedTuple):
    """What one reading of all units tells: where each starts, entries by row, and lengths."""

    starts: np.ndarray
    entries: np.ndarray
    squares: np.ndarray
    dtype: np.dtype
