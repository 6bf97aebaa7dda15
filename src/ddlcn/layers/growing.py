"""Arrays that grow at their end. One that gets long moves to a temporary file and is mapped from there.

What is looked at of a mapped array takes memory until it is forgotten; then it is read again when needed.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref
from contextlib import suppress
from typing import IO

import numpy as np

from ddlcn.errors import DDLCNError

IN_REACH = 256  # lines that are looked at in any order, then forgotten: Linux maps 64 KB and more about each
_WRITTEN = 1 << 16  # bytes at once: what Linux is given at once it maps at once, too, when any is read


class Growing:
    """A copy of an array, with more and more at its end.

    Parameters
    ----------
    start : array
        What it begins with.
    most : int, optional
        Longer than this, it is in a file that has no name and goes when it and its values do.

    >>> grown = Growing(np.arange(3), most=4)
    >>> grown.add(np.array([8])), is_mapped(grown.values)
    (None, False)
    >>> grown.add(np.array([9])), is_mapped(grown.values), grown.values
    (None, True, array([0, 1, 2, 8, 9]))
    """

    def __init__(self, start: np.ndarray, most: int | None = None) -> None:
        self._held, self._most = start.copy(), most
        self._file: IO[bytes] | None = None
        self._map: _Map | None = None

    @property
    def values(self) -> np.ndarray:
        """All of it, for as long as nothing is added."""
        if self._file is None:
            return self._held
        if self._map is None:
            try:
                self._map = _Map(self._file.fileno(), 0)
            except OSError as error:
                raise MemoryError(f"no room to map a file: {error}") from None
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


class _Map(mmap.mmap):
    """A map of ours."""


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array is in a file of ours, or a part of one that is."""
    return _map_of(array) is not None


def forget(array: np.ndarray) -> None:
    """Give back the memory of an array in one piece, if it is mapped, and what was mapped about it."""
    found = _map_of(array)
    if found is not None and array.size and hasattr(found, "madvise"):  # Windows has none, and sees to it
        start = array.ctypes.data - np.frombuffer(found, np.uint8).ctypes.data
        first = start // _WRITTEN * _WRITTEN
        last = min(-(-(start + array.nbytes) // _WRITTEN) * _WRITTEN, len(found))
        with suppress(OSError):  # pages that are locked stay
            found.madvise(mmap.MADV_DONTNEED, first, last - first)


def _map_of(array: np.ndarray) -> _Map | None:
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, _Map) else None


def _no_room(error: OSError) -> DDLCNError:
    return DDLCNError(
        f"can't write a temporary file in {tempfile.gettempdir()!r} ({error.strerror or error}): free some "
        "space there, or set TMPDIR to a folder of a disk that has some"
    )
