"""A few threads and a short queue: what does not fit is refused, so that accepted work is done soon."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Busy(Exception):
    """The queue is full."""


class Workers:
    """Run work in threads.

    Parameters
    ----------
    threads : int
    waiting : int
        Places in the queue.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "ddlcn")
        self._places = threads + waiting

    @property
    def full(self) -> bool:
        """Whether `run` would refuse."""
        return self._places == 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Wait for the result of some work, or raise `Busy` at once."""
        if self.full:
            raise Busy
        self._places -= 1
        done = asyncio.wrap_future(self._pool.submit(work, *args, **kwargs))
        done.add_done_callback(self._free)
        return await done

    def _free(self, _: object) -> None:
        self._places += 1

    def stop(self) -> None:
        """Finish running work and drop what waits."""
        self._pool.shutdown(cancel_futures=True)
