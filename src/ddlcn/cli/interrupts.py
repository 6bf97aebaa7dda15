"""Ctrl-C ends a command with one line that says what is kept, at whatever moment it comes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddlcn.errors import DDLCNError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

START_OVER = "nothing is half-written, run the command again to start over"


@contextmanager
def interruptible(kept: Callable[[], str] = lambda: START_OVER) -> Iterator[None]:
    """Turn Ctrl-C into an error; `kept` says what is left then.

    In a callback of the compiler of kernels Python can't raise, and ignores Ctrl-C; then the compiler fails,
    for want of what the callback was to do.
    """
    ignored = False

    def note(lost: "UnraisableHookArgs") -> None:
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
