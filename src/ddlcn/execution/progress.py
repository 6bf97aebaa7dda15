"""Progress of long work, for whoever listens: `with listen(callback): model.fit(…)`.

The callback gets the stage's name, the steps done and their total.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, TypeVar

Listener = Callable[[str, int, int], object]
T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen(callback: Listener) -> Iterator[None]:
    """Have `callback(stage, done, total)` called during the work in this block.

    Parameters
    ----------
    callback : callable
        Called with the name of a stage, the number of steps done and their total.

    Examples
    --------
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
    """Yield the results of a stage, telling the listener of each.

    Parameters
    ----------
    stage : str
        Its name.
    results : iterable
        What is yielded.
    total : int
        How many results there will be.
    """
    tell = _listener.get() or (lambda *_: None)
    tell(stage, 0, total)
    for done, result in enumerate(results, start=1):
        yield result
        tell(stage, done, total)


@contextmanager
def progress_bars(wanted: bool = True) -> Iterator[Listener]:
    """Give a listener that shows a bar per stage on standard error, and leaves no trace at the end.

    Parameters
    ----------
    wanted : bool
        Whether to show anything; nothing is shown where standard error is no terminal.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)
    hidden = not (wanted and (screen.is_terminal or screen.is_jupyter))
    name = TextColumn("{task.description:<12}", markup=False)
    columns = (name, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=screen, transient=True, redirect_stdout=False, disable=hidden) as bars:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            # a stage of one step has no share to show: its bar pulses until it is done
            bars.update(tasks[stage], completed=done, total=total if done or total > 1 else None)

        yield tell


class Stopwatch(dict[str, float]):
    """Seconds by stage.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with watch.time("dictionaries"):
    ...     pass
    >>> list(watch)
    ['dictionaries']
    """

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time of this block to a stage, less the time of stages inside it."""
        start, before = perf_counter(), sum(self.values())
        try:
            yield
        finally:
            inside = sum(self.values()) - before
            self[stage] = self.get(stage, 0.0) + perf_counter() - start - inside
