"""Threads: ours run over images and classes; BLAS stays at one, so that the two never multiply.

One BLAS thread also makes every product the same whatever the number of jobs.
"""

from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class one_blas_thread:
    """Limit BLAS to one thread inside a `with` block.

    The limit is of the process: the first block to be entered sets it, in whatever thread, and the last to be
    left lifts it. So blocks within blocks cost nothing.
    """

    _lock, _entered, _limit = Lock(), 0, None

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._entered == 0:
                cls._limit = _controller().limit(limits=1, user_api="blas")
            cls._entered += 1

    def __exit__(self, *_: Any) -> None:
        cls = type(self)
        with cls._lock:
            cls._entered -= 1
            if cls._entered == 0 and cls._limit is not None:
                cls._limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # a scan of the loaded libraries: tens of milliseconds, so once
