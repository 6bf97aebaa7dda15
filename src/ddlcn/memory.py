"""Memory of a process of ours."""

import ctypes
import os
from contextlib import suppress

_ARENAS, _LARGE = -8, -3  # M_ARENA_MAX and M_MMAP_THRESHOLD of glibc's malloc.h


def one_heap() -> None:
    """Have all threads of this process share one heap, without large arrays, where it is glibc's.

    It would give each thread a heap of its own, and what is free in one serves no other; and keep more and
    more of the large arrays in it, whose memory cannot go back for small ones that came after them. A
    training then had up to a third more. This concerns all of a process, so a command may do it, and a
    library leaves it to whoever runs it (MALLOC_ARENA_MAX, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES, which
    are heeded). Call it before there are threads.
    """
    for name, tunable, option, value in (
        ("MALLOC_ARENA_MAX", "arena_max", _ARENAS, 1),
        ("MALLOC_MMAP_THRESHOLD_", "mmap_threshold", _LARGE, 1 << 20),
    ):
        if name not in os.environ and tunable not in os.environ.get("GLIBC_TUNABLES", ""):
            with suppress(AttributeError, OSError, TypeError):  # another allocator
                ctypes.CDLL(None).mallopt(option, value)


def give_back() -> None:
    """Give free memory back to the system, where it is glibc's: it keeps what lies between blocks in use."""
    with suppress(AttributeError, OSError, TypeError):  # another allocator
        ctypes.CDLL(None).malloc_trim(0)
