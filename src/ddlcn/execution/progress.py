"""Progress of long work, for whoever listens: `with listen(callback): model.fit(…)`.

The callback gets the stage's name, the steps done and their total.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

Listener = Callable[[str, int, int], object]
T = TypeVar("T")
_REDRAW = 0.1  # seconds between drawings in a notebook

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
    """Give a listener that shows a bar per stage, and leaves no trace at the end.

    Bars are on standard error, or in the output of a notebook's cell. A bar never goes backwards: a stage that starts
    again gets a new bar in the place of its old one, as in "Dictionaries (2)".

    Parameters
    ----------
    wanted : bool
        Whether to show anything; nothing is shown where standard error is neither a terminal nor a notebook.
    """
    screen = _screen()
    if not (wanted and (screen.is_terminal or screen.is_jupyter)):
        yield lambda *_: None
        return
    note_compilation()
    begun: dict[str, tuple[str, int, int]] = {}  # by stage: its name, how often it was begun, the last step
    with _notebook_bars() if screen.is_jupyter else _terminal_bars(screen) as draw:

        def tell(stage: str, done: int, total: int) -> None:
            name, times, last = begun.get(stage, (stage, 1, 0))
            if done < last:
                name, times = f"{stage} ({times + 1})", times + 1
            begun[stage] = name, times, done
            draw(stage, name, done, total)

        yield tell


@contextmanager
def _terminal_bars(screen: Any) -> Iterator[Callable[[str, str, int, int], object]]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<16}", markup=False), BarColumn(), TaskProgressColumn())
    tasks: dict[str, tuple[str, Any]] = {}
    with Progress(*columns, TimeElapsedColumn(), console=screen, transient=True, redirect_stdout=False) as bars:

        def draw(stage: str, name: str, done: int, total: int) -> None:
            if stage not in tasks or tasks[stage][0] != name:
                if stage in tasks:
                    bars.remove_task(tasks[stage][1])
                tasks[stage] = name, bars.add_task(name, total=None)
            # a stage of one step has no share to show: its bar pulses until it is done
            bars.update(tasks[stage][1], completed=done, total=total if done or total > 1 else None)

        yield draw


@contextmanager
def _notebook_bars() -> Iterator[Callable[[str, str, int, int], object]]:
    """Bars of HTML; they need no widgets, so that they work in any notebook."""
    from IPython.display import HTML, display

    cell, bars, drawn = display(HTML(""), display_id=True), dict[str, str](), -1.0

    def draw(stage: str, name: str, done: int, total: int) -> None:
        nonlocal drawn
        share = f'value="{done}" max="{max(total, 1)}"' if done or total > 1 else ""
        bars[stage] = f"<div><progress {share}></progress> {escape(name)} {done} of {total}</div>"
        if done == total or perf_counter() - drawn > _REDRAW:
            drawn = perf_counter()
            cell.update(HTML("".join(bars.values())))

    try:
        yield draw
    finally:
        cell.update(HTML(""))


@cache
def note_compilation() -> None:
    """Say, once, that this run takes longer if numba's cache has no kernels of an earlier run."""
    screen = _screen()
    if not (screen.is_terminal or screen.is_jupyter):
        return
    from ddlcn.kernels.locality import encode_exact

    folder = getattr(getattr(encode_exact, "stats", None), "cache_path", None)
    if folder and not any(Path(folder).glob("*.nbi")):
        print("Compiling kernels, once: the first run takes half a minute longer", file=sys.stderr, flush=True)


def _screen() -> Any:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


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
