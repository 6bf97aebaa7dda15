"""Memory of a process of ours."""

import ctypes
import os
from contextlib import suppress

_ARENAS = -8  # M_ARENA_MAX of glibc's malloc.h


def one_heap() -> None:
    """Have all threads of this process share one heap, where the system's allocator is glibc's.

    It would give each thread a heap of its own, and what is free in one serves no other: a training then had
    up to a third more. This concerns all of a process, so a command may do it, and a library leaves it to
    whoever runs it (MALLOC_ARENA_MAX or GLIBC_TUNABLES, which are heeded). Call it before there are threads.
    """
    said = "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", "")
    if not said:
        with suppress(AttributeError, OSError, TypeError):  # another allocator
            ctypes.CDLL(None).mallopt(_ARENAS, 1)
