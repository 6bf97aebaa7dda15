"""Ctrl-C ends a command with one line that says what is kept, whenever it comes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ddlcn.errors import DDLCNError

START_OVER = "no incomplete file is left, run the same command again to start over"


@contextmanager
def interruptible(kept: Callable[[], str] = lambda: START_OVER) -> Iterator[None]:
    """Turn Ctrl-C into an error; `kept` says what is kept then.

    In a callback of numba's compiler Python can't raise, and ignores Ctrl-C; then the compiler fails, because the
    callback did not do its work.
    """
    ignored = False

    def note(lost: "sys.UnraisableHookArgs") -> None:
        nonlocal ignored
        if issubclass(lost.exc_type, KeyboardInterrupt):
            ignored = True
        else:
            before(lost)

    before, sys.unraisablehook = sys.unraisablehook, note
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        explained = isinstance(error, DDLCNError | OSError | MemoryError)
        if isinstance(error, KeyboardInterrupt) or (ignored and not explained):
            raise DDLCNError(f"interrupted; {kept()}") from None
        raise
    finally:
        sys.unraisablehook = before
