"""Threads: ours run over images and classes; BLAS stays at one, so that the two never multiply.

One BLAS thread also makes every product the same whatever the number of jobs.
"""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # a scan of the loaded libraries: tens of milliseconds, so once


def one_blas_thread() -> AbstractContextManager:
    """Limit BLAS to one thread inside a `with` block."""
    return _controller().limit(limits=1, user_api="blas")
