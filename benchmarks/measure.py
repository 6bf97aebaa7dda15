"""Fair measurements: rivals take turns in one process, after a turn each that is not counted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A line of the table. The figure is what the target speaks of, as in "≥ 10 ×" or "≤ 5 ms".

    >>> Row("sift", "1 ms", "12 ms", 12.0, "≥ 10 ×").verdict, Row("fit", "9 s", "–", 9.0, "≤ 8 s").verdict
    ('met', 'missed')
    """

    what: str
    ours: str
    peer: str
    figure: float
    target: str

    @property
    def verdict(self) -> str:
        """Whether the target is met; a row without one only informs."""
        if not self.target:
            return "–"
        sign, limit, _ = self.target.split()
        met = self.figure >= float(limit) if sign == "≥" else self.figure <= float(limit)
        return "met" if met else "missed"


def race(*runs: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = process_time) -> list[float]:
    """Least seconds of each function over `repeats` turns; zero repeats take the first, unwarmed turn.

    Processor time, the default, leaves out what other processes take from a busy machine; it is for
    functions on one thread.
    """
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats + 1):
        for run, found in zip(runs, times, strict=True):
            start = clock()
            run()
            found.append(clock() - start)
    return [min(found[1:] or found) for found in times]


def timed(run: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> tuple[Any, float]:
    """What a function gives, and its seconds."""
    start = clock()
    result = run()
    return result, clock() - start


def run(part: str, quick: bool) -> list[Row]:
    """Rows of a part."""
    return import_module(f"benchmarks.{part}").rows(quick)


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a module gives in a fresh interpreter, whose peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def spell(seconds: float) -> str:
    """Seconds for people.

    >>> spell(0.00234), spell(75)
    ('2.34 ms', '75 s')
    """
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
