"""Everything that the results page shows, as one list of tasks: `ddlcn bench paper`.

Cheap and important rows come first: our presets on small data sets, other methods there, our presets on large ones,
curves, then the rest. Ours have ten splits, other methods three; MNIST has one, its own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from ddlcn.errors import DDLCNError
from ddlcn_lab import machine
from ddlcn_lab.datasets import get_source
from ddlcn_lab.grid import Grid, make_grid
from ddlcn_lab.methods.registry import METHODS
from ddlcn_lab.published import TABLES, read_table
from ddlcn_lab.rows_file import RowsFile, Task, task_of

PARTS = {  # table: data sets
    "new": ("wbc1", "neu_det", "flowers17"),
    "table1": ("yaleb", "yaleb-excluded"),
    "table2": ("ar",),
    "table3": ("caltech256", "caltech101"),
    "table4": ("mnist",),
    "curves": ("yaleb", "ar"),
    "leak": ("yaleb", "ar"),
}
OURS = ("ddlcn", "ddlcn-best", "ddlcn-backbone")
SPLITS, RIVAL_SPLITS = 10, 3
_LARGE = ("caltech101", "mnist")
_RIVAL_SETTING = {"ar": "5-5", "mnist": "100-100"}  # p-q of methods that the paper gives none for; else 15-15
_ON_MNIST = (  # the others need too much memory or days for 60,000 images
    *("dcn", "embed-cnn", "convolutional-clustering", "cnn", "llc-1024"),
    *("nearest", "ridge", "svm", "hog", "probe-lr", "probe-svm"),
)
_SMALLER = {  # seconds per image otherwise: parameters, and data sets that do not need them
    "pcanet-2": ("longest_side=96", ("ar", "mnist")),
    "m-hmp": ("multipathfeatures__longest_side=96", ("ar", "mnist", "caltech256")),
}
# classes, images per class, and the time of an image beside one of Extended Yale B, roughly
_FACTS = {
    "yaleb": (38, 63.5, 1.0), "yaleb-excluded": (38, 53.5, 1.0), "ar": (100, 26, 0.15), "mnist": (10, 7000, 0.1),
    "caltech101": (102, 46.8, 2.5), "caltech256": (10, 85, 2.5), "flowers17": (17, 60, 2.5), "neu_det": (6, 60, 1.2),
    "wbc1": (4, 46, 0.7),
}  # fmt: skip
# milliseconds per image of Extended Yale B, training and test; used until a method has rows
_MS = {
    "ddlcn": 6, "ddlcn-best": 25, "ddlcn-backbone": 45, "ddlcn-released": 15, "lscspm": 284, "m-hmp": 120, "rrc-l1": 95,
    "local-nbnn": 100, "fisher": 60, "scspm": 46, "pcanet-1": 42, "pcanet-2": 42, "fddl": 35, "probe-lr": 25,
    "probe-svm": 25, "embed-cnn": 25, "cnn": 22, "kc": 23, "spm": 20, "dbdl": 21, "jbdc": 21,
}  # fmt: skip
# ablations, which `ddlcn_lab.ablations` runs; and a method whose weights are to be had nowhere
_ELSEWHERE = (
    "ddlcn-best-llc",
    "ddlcn-best-no-color",
    "ddlcn-best-no-covariance",
    "ddlcn-best-no-covariance_grid",
    "ddlcn-best-no-sift_grid",
    "frozen-vgg",
)
_SLOW = 600  # seconds of a row that is run late


class Entry(NamedTuple):
    """A task of a table."""

    table: str
    task: Task


def plan(
    file: RowsFile, only: str | None = None, methods: str | None = None, splits: int | None = None
) -> list[tuple[Entry, float]]:
    """Return what is to be run, in order, with an estimate in seconds; rows that are there are part of it.

    Parameters
    ----------
    file : RowsFile
        Rows that are there; their times improve the estimates.
    only : str, optional
        Tables or data sets, separated by commas.
    methods : str, optional
        Methods, separated by commas; parameters follow from the data set.
    splits : int, optional
        At most so many for each method.

    Returns
    -------
    list of (Entry, float)

    Raises
    ------
    DDLCNError
        If a name is unknown.

    Examples
    --------
    >>> found = plan(RowsFile("no-such-file.jsonl"), "wbc1", "ddlcn-best,hog", splits=2)
    >>> [(entry.task.job.method, entry.task.job.t, entry.task.job.split) for entry, _ in found][:2]
    [('ddlcn-best', 5, 0), ('ddlcn-best', 5, 1)]
    """
    parts = set(only.split(",")) if only else set(PARTS)
    _check(parts, {*PARTS, *sum(PARTS.values(), ())}, "table or data set")
    names = set(methods.split(",")) if methods else set(METHODS)
    _check(names, set(METHODS), "method")
    seconds = _Estimate(file)
    found = [
        (entry, seconds(entry.task))
        for entry in entries()
        if parts & {entry.table, entry.task.dataset}
        and base_name(entry.task.job.method) in names
        and (splits is None or entry.task.job.split < splits)
    ]
    if not found:
        raise DDLCNError(f"the plan has no such rows: {methods or 'all methods'} of {only or 'all tables'}")
    once: dict[Task, tuple[Entry, float]] = {}
    for entry, cost in found:
        once.setdefault(entry.task, (entry, cost))  # some tasks are in two tables
    return sorted(once.values(), key=lambda each: _order(*each))


def remaining(file: RowsFile, found: Iterable[tuple[Entry, float]]) -> list[tuple[Entry, float]]:
    """Return the part of a plan that has no rows yet."""
    return [(entry, cost) for entry, cost in found if entry.task not in file]


def describe(file: RowsFile, found: Sequence[tuple[Entry, float]]) -> str:
    """Return a plan as text: rows and hours by table and data set."""
    groups: dict[tuple[str, str, str], list[tuple[Entry, float]]] = {}
    for entry, cost in found:
        who = "ours" if is_ours(entry.task.job.method) else "others"
        groups.setdefault((entry.table, entry.task.dataset, who), []).append((entry, cost))
    lines = [f"{'table':<8} {'data set':<15} {'methods':<8} {'rows':>5} {'left':>5} {'hours left':>10}"]
    for names, part in groups.items():
        left = remaining(file, part)
        hours = sum(cost for _, cost in left) / 3600
        lines.append("{:<8} {:<15} {:<8}".format(*names) + f" {len(part):>5} {len(left):>5} {hours:>10.1f}")
    left = remaining(file, found)
    hours = sum(cost for _, cost in left) / 3600
    return "\n".join([*lines, f"{len(left)} of {len(found)} rows left, about {hours:.1f} hours (a rough estimate)"])


def default_file() -> Path:
    """Return the file of a clone of the repository.

    Raises
    ------
    DDLCNError
        If this is an installed package.
    """
    folder = Path(__file__).parents[2] / "docs" / "results"
    if not folder.is_dir():
        raise DDLCNError("this is no clone of the repository: name a file of rows by --out, as in --out paper.jsonl")
    return folder / "paper.jsonl"


def base_name(method: str) -> str:
    """Return the name of a method without its parameters."""
    return method.partition(":")[0]


def is_ours(method: str) -> bool:
    """Return whether a method is one of our presets or recipes, which have ten splits."""
    return base_name(method) in (*OURS, "mnist-recipe")


@cache
def entries() -> tuple[Entry, ...]:
    """Return all tasks of all tables."""
    return tuple(dict.fromkeys(_entries()))


def _entries() -> Iterator[Entry]:
    for table, datasets in PARTS.items():
        for dataset in datasets:
            for grid in _grids(table, dataset):
                for job in grid.jobs():
                    if (job.leak == (table == "leak")) and (table != "curves" or (job.p or 0) <= (job.t or 0)):
                        yield Entry(table, Task(dataset, job))


def _grids(table: str, dataset: str) -> Iterator[Grid]:
    splits = 1 if dataset == "mnist" else SPLITS
    if table == "curves":
        yield make_grid(dataset, "curves", splits=splits)
    elif table == "leak":
        yield make_grid(dataset, leak=True, splits=splits)
    else:
        for name in OURS:
            yield make_grid(dataset, methods=name, splits=splits)
        if dataset == "mnist":
            yield make_grid(dataset, methods="mnist-recipe", settings="500-500", splits=1)
        for name, setting in _rivals(dataset):
            yield make_grid(dataset, methods=name, settings=setting, splits=min(splits, RIVAL_SPLITS))


def _rivals(dataset: str) -> Iterator[tuple[str, str]]:
    """Other methods with p-q: the one of all methods, and those of the paper's tables."""
    setting = _RIVAL_SETTING.get(dataset, "15-15")
    for name in METHODS:
        if not (is_ours(name) or name in _ELSEWHERE) and (dataset != "mnist" or name in _ON_MNIST):
            yield with_parameters(name, dataset), setting
    for figure in (figure for name in TABLES for figure in read_table(name)):
        if figure.dataset == dataset and figure.p == "A" and not is_ours(figure.ours):
            yield figure.ours, f"A-{figure.q or setting.partition('-')[2]}"


def with_parameters(name: str, dataset: str) -> str:
    """Return a method's name with the parameters that it has on a data set.

    Examples
    --------
    >>> with_parameters("dpl", "ar"), with_parameters("dpl", "yaleb")
    ('dpl:randomfaces__n_features=540', 'dpl')
    """
    if dataset == "ar" and "randomfaces__n_features" in METHODS[name].make(1, 1, 0, None).get_params():
        return f"{name}:randomfaces__n_features=540"
    smaller, not_for = _SMALLER.get(name, ("", ()))
    return f"{name}:{smaller}" if smaller and dataset not in not_for else name


def _order(entry: Entry, cost: float) -> tuple[int, bool, float]:
    late, large = entry.task.job.split >= RIVAL_SPLITS, entry.task.dataset in _LARGE
    if entry.table in ("curves", "leak"):
        group = 5 if late else 3
    elif is_ours(entry.task.job.method):
        group = (5 if late else 2) if large else 0
    else:
        group = 4 if large or cost > _SLOW else 1
    return group, late, cost


class _Estimate:
    """Seconds of a task: those of rows of the same task, of the same method on other data, or of a table."""

    def __init__(self, file: RowsFile) -> None:
        self.same: dict[Any, list[float]] = {}
        self.totals: dict[str, tuple[float, float]] = {}  # seconds and work of each method
        for row in (*file.others, *file.rows):
            task = task_of(row)
            if "seconds" in row and task.dataset in _FACTS:
                taken = row["seconds"]["fit"] + row["seconds"]["predict"]
                self.same.setdefault(_without_split(task), []).append(taken)
                name = base_name(task.job.method)
                seconds, work = self.totals.get(name, (0.0, 0.0))
                self.totals[name] = seconds + taken, work + _work(task)

    def __call__(self, task: Task) -> float:
        if _without_split(task) in self.same:
            return mean(self.same[_without_split(task)])
        name = base_name(task.job.method)
        seconds, work = self.totals.get(name, (_MS.get(name, 10), 1000.0))
        return _work(task) * seconds / work


def _without_split(task: Task) -> Task:
    return task._replace(job=task.job._replace(split=0))


def _work(task: Task) -> float:
    """Images of a task, each counted by its size."""
    classes, images, size = _FACTS[task.dataset]
    t, most_test = task.job.t, get_source(task.dataset).most_test
    train = images if t is None else t if isinstance(t, int) else t * images
    return classes * min(images, train + (most_test or math.inf)) * size


def _check(given: set[str], known: set[str], what: str) -> None:
    if unknown := given - known:
        raise DDLCNError(f"{what} {min(unknown)!r} is unknown; choose from {', '.join(sorted(known))}")


def open_file(out: str | os.PathLike[str] | None) -> RowsFile:
    """Return the rows of this source in a file: in a clone, by default docs/results/paper.jsonl."""
    return RowsFile(out or default_file(), machine.source_hash())
