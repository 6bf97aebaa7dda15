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
    it was, and the last to be left restores that. Every block sets it again, in case others have changed it.
    """

    _lock, _entered, _before = Lock(), 0, list[int]()

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._entered == 0:
                cls._before = [library.get_num_threads() for library in _libraries()]
            cls._entered += 1
            _set_num_threads([1] * len(_libraries()))

    def __exit__(self, *_: Any) -> None:
        cls = type(self)
        with cls._lock:
            cls._entered -= 1
            if cls._entered == 0:
                _set_num_threads(cls._before)


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
