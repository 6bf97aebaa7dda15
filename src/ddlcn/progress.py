"""Progress of long work, for whoever listens: `with listen(callback): model.fit(…)`.

The callback gets the stage's name, the steps done and their total. Nothing is printed here.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TypeVar

Listener = Callable[[str, int, int], object]
T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen(callback: Listener) -> Iterator[None]:
    """Have `callback(stage, done, total)` called during the work in this block.

    >>> with listen(lambda stage, done, total: print(stage, done, "of", total)):
    ...     squares = list(track("squares", (n * n for n in range(2)), total=2))
    squares 0 of 2
    squares 1 of 2
    squares 2 of 2
    """
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)


def track(stage: str, results: Iterable[T], total: int) -> Iterator[T]:
    """Yield the results of a stage, telling the listener of each."""
    tell = _listener.get() or (lambda *_: None)
    tell(stage, 0, total)
    for done, result in enumerate(results, start=1):
        yield result
        tell(stage, done, total)


class Stopwatch(dict[str, float]):
    """Seconds by stage.

    >>> watch = Stopwatch()
    >>> with watch.time("dictionaries"):
    ...     pass
    >>> list(watch)
    ['dictionaries']
    """

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time of this block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self[stage] = self.get(stage, 0.0) + perf_counter() - start
