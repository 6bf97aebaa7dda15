"""What a person sees: bars on standard error while work goes on, results on standard output.

Nothing is markup, so that a label like [red] is printed as it is; no colours unless it is a terminal.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.table import Table

from ddlcn.progress import Listener

_CLASSES_SHOWN = 20
_SKIPPED_SHOWN = 3


def console(stderr: bool = False) -> Console:
    """A console on the standard stream of the moment."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def progress() -> Iterator[Listener]:
    """Give a listener that shows a bar for each stage, and leaves no trace at the end."""
    screen = console(stderr=True)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            # a stage of one step has no share to show: its bar pulses until it is done
            bars.update(tasks[stage], completed=done, total=total if done or total > 1 else None)

        yield tell


def show_json(result: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(result, indent=2, allow_nan=False))


def show_result(result: dict[str, Any]) -> None:
    """Print how training and testing went."""
    out = console()
    if result["accuracy"] is None:
        out.print(f"Trained on {result['n_train']} images of {len(result['classes'])} classes", style="bold")
        out.print("Accuracy not measured: hold images out with --train-per-class, or use ddlcn evaluate")
    else:
        low, high = result["interval"]
        out.print(f"Accuracy {result['accuracy']:.2%}", style="bold green", end="")
        out.print(f"  (95 % interval {low:.2%} to {high:.2%})")
        out.print(f"trained on {result['n_train']} images, tested on {result['n_test']} others\n", style="dim")
        _show_classes(out, result["per_class"])
        for pair in result["most_confused"]:
            truth, predicted = printable(pair["truth"]), printable(pair["predicted"])
            out.print(f"{truth} was taken for {predicted}", f"{pair['count']} ×")
    stages = [f"{stage} {seconds:.1f} s" for stage, seconds in result["timings"].items()]
    out.print(f"{' · '.join(stages)} · in all {result['seconds']:.1f} s", style="dim")
    if result["model"]:
        out.print(f"Model written to {printable(result['model'])}")


def _show_classes(out: Console, per_class: list[dict[str, Any]]) -> None:
    """Print a line for each class that was tested; of very many, the worst."""
    tested = [row for row in per_class if row["n_test"]]
    if len(tested) > _CLASSES_SHOWN:
        tested = sorted(tested, key=lambda row: row["accuracy"])[:_CLASSES_SHOWN]
        out.print(f"The {_CLASSES_SHOWN} worst classes (--json lists all):")
    table = Table("class", "", "accuracy", "images", box=None, pad_edge=False, header_style="dim")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in tested:
        bar = ProgressBar(1, row["accuracy"], width=24, complete_style="green", finished_style="green")
        table.add_row(printable(row["label"]), bar, f"{row['accuracy']:.1%}", str(row["n_test"]))
    out.print(table)
    out.print()


def show_skipped(skipped: list[dict[str, str]]) -> None:
    """Say on standard error which images were left out, and why."""
    out = console(stderr=True)
    if skipped:
        out.print(f"Skipped {len(skipped)} broken image(s):", style="yellow")
    for image in skipped[:_SKIPPED_SHOWN]:
        out.print(f"  {printable(image['path'])} {image['reason']}")
    if len(skipped) > _SKIPPED_SHOWN:
        out.print(f"  and {len(skipped) - _SKIPPED_SHOWN} more (--json lists all)")


def printable(text: Any) -> str:
    r"""Text with what a terminal would obey or choke on spelt out.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
