"""Threads: ours run over images and classes; BLAS stays at one, so that the two never multiply.

One BLAS thread also makes every product the same whatever the number of jobs.
"""

from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class one_blas_thread:
    """Limit BLAS to one thread inside a `with` block.

    The number of threads is the process's: the first block to be entered, in whatever thread, remembers what
    it was, and the last to be left restores that. Every block sets it anew, in case others have changed it.
    """

    _lock, _entered, _before = Lock(), 0, list[int]()

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._entered == 0:
                cls._before = [library.get_num_threads() for library in _libraries()]
            cls._entered += 1
            for library in _libraries():
                library.set_num_threads(1)

    def __exit__(self, *_: Any) -> None:
        cls = type(self)
        with cls._lock:
            cls._entered -= 1
            if cls._entered == 0:
                for library, n_threads in zip(_libraries(), cls._before, strict=True):
                    library.set_num_threads(n_threads)


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries at hand; a scan of all that is loaded takes tens of milliseconds, so once."""
    return ThreadpoolController().select(user_api="blas").lib_controllers
