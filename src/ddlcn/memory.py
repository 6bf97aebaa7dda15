"""Memory of a process of ours."""

import ctypes
import os
from contextlib import suppress

_ARENAS = -8  # M_ARENA_MAX of glibc's malloc.h


def one_heap() -> None:
    """Have all threads of this process share one heap, where the system's allocator is glibc's.

    It would give each thread a heap of its own, and what is free in one serves no other: a training then had
    up to a third more. This concerns all of a process, so a command may do it, and a library leaves it to
    whoever runs it (MALLOC_ARENA_MAX, which is heeded). Call it before there are threads.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(AttributeError, OSError, TypeError):  # another allocator
            ctypes.CDLL(None).mallopt(_ARENAS, 1)
