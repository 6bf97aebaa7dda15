"""A few threads and a short queue: what does not fit is refused, so that accepted work is done soon.

The threads are daemons: Ctrl-C waits for none, however long its work takes.
"""

import asyncio
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue as Queue
from threading import Thread
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
        self._queue: Queue[Callable[[], None] | None] = Queue()
        self._threads = threads  # that are not started yet: a fork would lose them
        weakref.finalize(self, _stop, self._queue, threads)
        self._places = asyncio.Semaphore(threads + waiting)

    @property
    def full(self) -> bool:
        """Whether `run` would refuse."""
        return self._places.locked()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Wait for the result of some work, or raise at once if the queue is full."""
        if self.full:
            raise HTTPException(503, BUSY, {"Retry-After": "1"})
        if self._threads:
            self._threads -= 1
            Thread(target=_work, args=(self._queue,), name="ddlcn", daemon=True).start()
        async with self._places:
            future: Future[T] = Future()
            self._queue.put(partial(_run, future, partial(work, *args, **kwargs)))
            return await asyncio.wrap_future(future)


def _work(queue: Queue[Callable[[], None] | None]) -> None:
    while run := queue.get():
        run()
        del run  # which holds an upload


def _stop(queue: Queue[Callable[[], None] | None], threads: int) -> None:
    for _ in range(threads):
        queue.put(None)


def _run(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
