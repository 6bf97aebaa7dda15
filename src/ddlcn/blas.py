"""Threads: ours run over images and classes; BLAS stays at one, so that the two never multiply.

One BLAS thread also makes every product the same whatever the number of jobs.
"""

import os
from functools import cache
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController


class one_blas_thread:
    """Limit BLAS to one thread inside a `with` block.

    The number of threads is the process's: the first block to be entered, in whatever thread, remembers what
    it was, and the last to be left restores that. Every block sets it again, in case others have changed it.

    At a fork, OpenBLAS stops its threads, and hangs if a product of several threads is running; in a block, products
    have one thread. In the child the lock is free, and blocks of threads that it does not have are left.
    """

    _lock, _open, _before = Lock(), set["one_blas_thread"](), list[int]()

    def __enter__(self) -> None:
        cls = type(self)
        self._thread = get_ident()
        with cls._lock:
            if not cls._open:
                cls._before = [library.get_num_threads() for library in _libraries()]
            cls._open.add(self)
            _set_num_threads([1] * len(_libraries()))

    def __exit__(self, *_: Any) -> None:
        cls = type(self)
        with cls._lock:
            cls._open.remove(self)
            if not cls._open:
                _set_num_threads(cls._before)

    @classmethod
    def _after_fork_in_child(cls) -> None:
        lost = {block for block in cls._open if block._thread != get_ident()}
        cls._open -= lost
        if lost and not cls._open:
            _set_num_threads(cls._before)
        cls._lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(
        before=one_blas_thread._lock.acquire,
        after_in_parent=one_blas_thread._lock.release,
        after_in_child=one_blas_thread._after_fork_in_child,
    )


def _set_num_threads(numbers: list[int]) -> None:
    """Set the number of threads of each library, from whatever thread.

    Since threadpoolctl 3.8 an OpenBLAS obeys only the thread that set its number first, until that is cleared.
    """
    for library, n_threads in zip(_libraries(), numbers, strict=True):
        clear = getattr(library, "clear_controlling_thread", lambda force: None)
        clear(force=True)
        library.set_num_threads(n_threads)
        clear(force=True)


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries that are loaded; a scan of all that is loaded takes tens of milliseconds, so once."""
    return ThreadpoolController().select(user_api="blas").lib_controllers
