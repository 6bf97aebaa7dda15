"""Consoles, bars and JSON: progress on standard error, results on standard output.

Nothing is markup, so that a label like [red] is printed as it is; no colours unless it is a terminal.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ddlcn.progress import Listener


def console(stderr: bool = False, width: int | None = None) -> Console:
    """A console on the standard stream of the moment."""
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def progress(wanted: bool = True) -> Iterator[Listener]:
    """Give a listener that shows a bar for each stage, and leaves no trace at the end."""
    screen = console(stderr=True)
    hidden = not (wanted and screen.is_terminal)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=screen, transient=True, redirect_stdout=False, disable=hidden) as bars:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            # a stage of one step has no share to show: its bar pulses until it is done
            bars.update(tasks[stage], completed=done, total=total if done or total > 1 else None)

        yield tell


def show_json(result: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(result, indent=2, allow_nan=False))


def in_seconds(timings: dict[str, float]) -> str:
    """Times by stage, to be read.

    >>> in_seconds({"coding": 1.25, "svm": 0.5})
    'coding 1.2 s · svm 0.5 s'
    """
    return " · ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.items())


def printable(text: Any) -> str:
    r"""Text with what a terminal would obey or choke on spelt out.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
