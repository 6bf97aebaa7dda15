"""An array that grows at its end. When it gets long it moves to a temporary file and is mapped from there."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from typing import IO

import numpy as np

from ddlcn.errors import DDLCNError

_WRITTEN = 1 << 16  # bytes at once: what Linux is given at once it maps at once, too, when any is read


class Growing:
    """A copy of an array, with more and more at its end.

    Parameters
    ----------
    start : array
        What it begins with.
    most : int, optional
        Longer than this, it is in a file that has no name and goes when it does.

    >>> grown = Growing(np.arange(3), most=4)
    >>> grown.add(np.array([8])), grown.is_mapped
    (None, False)
    >>> grown.add(np.array([9])), grown.is_mapped, grown.values
    (None, True, array([0, 1, 2, 8, 9]))
    """

    def __init__(self, start: np.ndarray, most: int | None = None) -> None:
        self._held, self._most = start.copy(), most
        self._file: IO[bytes] | None = None
        self._map: mmap.mmap | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether it is in a file."""
        return self._file is not None

    @property
    def values(self) -> np.ndarray:
        """All of it, for as long as nothing is added."""
        if self._file is None:
            return self._held
        if self._map is None:
            self._map = mmap.mmap(self._file.fileno(), 0)
        return np.frombuffer(self._map, self._held.dtype)

    def add(self, more: np.ndarray) -> None:
        """Put more at its end."""
        if self._file is None and self._most is not None and len(self._held) + len(more) > self._most:
            self._move()
        if self._file is None:
            self._held.resize(len(self._held) + len(more), refcheck=False)
            self._held[len(self._held) - len(more) :] = more
        else:
            self._write(self._file, more.astype(self._held.dtype, copy=False))

    def forget(self, start: int, stop: int) -> None:
        """Give back the memory of some of it, which is read again when it is looked at."""
        if self._map is not None and hasattr(
            self._map, "madvise"
        ):  # Windows has none, and pages them out itself
            page, size = mmap.PAGESIZE, self._held.itemsize
            first, last = -(-start * size // page) * page, stop * size // page * page
            if stop * size == len(self._map):
                last = len(self._map)
            if first < last:
                self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def _move(self) -> None:
        """To a file."""
        try:
            self._file = tempfile.TemporaryFile(prefix="ddlcn-")  # noqa: SIM115
        except OSError as error:
            raise _no_room(error) from None
        weakref.finalize(self, self._file.close)
        self._write(self._file, self._held)
        self._held = self._held[:0].copy()

    def _write(self, file: IO[bytes], more: np.ndarray) -> None:
        self._map = None
        try:
            given = np.ascontiguousarray(more).view(np.uint8).data
            for start in range(0, len(given), _WRITTEN):
                file.write(given[start : start + _WRITTEN])
                file.flush()
        except OSError as error:
            raise _no_room(error) from None


def _no_room(error: OSError) -> DDLCNError:
    return DDLCNError(
        f"can't write rows to {tempfile.gettempdir()!r} ({error.strerror or error}): free some space there, "
        "set TMPDIR to a folder of a disk that has some, or give a store"
    )
