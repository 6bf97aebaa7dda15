"""A few threads and a short queue: what does not fit is refused, so that accepted work is done soon."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from starlette.exceptions import HTTPException

P = ParamSpec("P")
T = TypeVar("T")
BUSY = "too many requests at once; try again in a second"


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
        self._places = asyncio.Semaphore(threads + waiting)

    @property
    def full(self) -> bool:
        """Whether `run` would refuse."""
        return self._places.locked()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Wait for the result of some work, or raise at once if the queue is full."""
        if self.full:
            raise HTTPException(503, BUSY, {"Retry-After": "1"})
        async with self._places:
            return await asyncio.wrap_future(self._pool.submit(work, *args, **kwargs))

    def stop(self) -> None:
        """Finish running work and drop what waits."""
        self._pool.shutdown(cancel_futures=True)
