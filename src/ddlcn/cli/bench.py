"""The paper's experiments: `bench`, `bench-report` (extra `lab`)."""

import sys
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from ddlcn.cli import options
from ddlcn.cli.app import command, needs_extra
from ddlcn.cli.interrupts import interruptible
from ddlcn.errors import DDLCNError
from ddlcn_lab import options as lab


@command(
    "ddlcn bench digits --out runs/digits --methods ddlcn,llc --pq 15-15 --splits 3",
    "ddlcn bench paper --plan",
    "ddlcn bench paper --only table1,wbc1 --methods ddlcn-best,hog --hours 8",
)
def bench(
    dataset: Annotated[str, lab.DATASET],
    out: Annotated[Path | None, lab.OUT] = None,
    data: Annotated[Path | None, lab.DATA] = None,
    methods: Annotated[str | None, lab.METHODS] = None,
    settings: Annotated[str | None, lab.SETTINGS] = None,
    t: Annotated[str | None, lab.T] = None,
    splits: Annotated[int | None, lab.SPLITS] = None,
    grid: Annotated[str, lab.GRID] = "table",
    leak: Annotated[bool, lab.LEAK] = False,
    only: Annotated[str | None, lab.ONLY] = None,
    hours: Annotated[float | None, lab.HOURS] = None,
    plan: Annotated[bool, lab.PLAN] = False,
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
) -> None:
    """Run a grid of experiments, or all of the results page. If interrupted, run the same command again to resume."""
    if dataset == "paper":
        others = {
            "--pq": settings,
            "--t": t,
            "--grid": grid != "table",
            "--leak-test-images": leak,
            "--seed": int(seed),
        }
        _check_options("paper", others)
        return _paper(out, data, only, methods, splits, hours, plan, jobs, quiet)
    _check_options(dataset, {"--only": only, "--hours": hours, "--plan": plan})
    if out is None:
        raise DDLCNError(f"name a run folder, as in --out runs/{dataset.partition(':')[0]}")
    with needs_extra("lab"):
        from ddlcn_lab.grid import make_grid
        from ddlcn_lab.runner import bench as fill

        wanted = make_grid(dataset, grid, methods, settings, t, splits, seed, leak)
        start, first, done, total = perf_counter(), None, 0, 0
        with interruptible(lambda: f"{done} rows are kept, run the same command again to resume"):
            for done, total in fill(wanted, out, data, jobs or -1):
                first = done if first is None else first
                left = timedelta(seconds=round((total - done) * (perf_counter() - start) / max(1, done - first)))
                if not quiet:
                    _tell(f"{done} of {total} rows" + (f", {left} left" if first < done < total else ""))
    typer.echo(f"{total} row{'s' * (total != 1)} in {out}; see ddlcn bench-report {out}")
    return None


def _paper(
    out: Path | None,
    data: Path | None,
    only: str | None,
    methods: str | None,
    splits: int | None,
    hours: float | None,
    show: bool,
    jobs: int | None,
    quiet: bool,
) -> None:
    """`ddlcn bench paper`: all rows of the results page that the file does not have."""
    with needs_extra("lab"):
        from ddlcn_lab import paper

        file = paper.open_file(out)
        wanted = paper.plan(file, only, methods, splits)
        if file.others:
            print(f"{len(file.others)} rows of another source are ignored (this is {file.source})", file=sys.stderr)
        if show:
            typer.echo(paper.describe(file, wanted))
            return
        left = paper.remaining(file, wanted)
        total, done = len(wanted), 0
        with interruptible(lambda: f"{done} new rows are kept, run the same command again to resume"):
            for task, row in file.fill([entry.task for entry, _ in left], data, jobs or -1, hours):
                done += 1
                left = paper.remaining(file, paper.plan(file, only, methods, splits))  # by the times so far
                hours_left = sum(cost for _, cost in left) / 3600
                if not quiet:
                    _tell_row(f"{total - len(left)} of {total} rows, about {hours_left:.1f} hours left", task, row)
    typer.echo(f"{total - len(left)} of {total} rows in {file.path}; see ddlcn bench-report {file.path}")


def _tell_row(progress: str, task: Any, row: dict[str, Any]) -> None:
    """Show what was run, and its result."""
    what = " ".join(f"{key}={value}" for key, value in task.job._asdict().items() if key != "leak")
    found = row.get("error") or f"{row['accuracy']:.2%} in {row['seconds']['fit'] + row['seconds']['predict']:.1f} s"
    print(f"{progress}: {task.dataset} {what}: {found}", file=sys.stderr, flush=True)


def _check_options(dataset: str, given: dict[str, Any]) -> None:
    """Options that a data set does not have are refused, not ignored."""
    for name, value in given.items():
        if value:
            raise DDLCNError(f"{name} is not for {dataset!r}: leave it out")


@command(
    "ddlcn bench-report runs/digits", "ddlcn bench-report runs/digits --format html -o digits.html", name="bench-report"
)
def bench_report(
    runs: Annotated[list[Path], lab.RUNS],
    kind: Annotated[str, lab.FORMAT] = "terminal",
    output: Annotated[Path | None, options.OUTPUT] = None,
    data: Annotated[Path | None, lab.DATA] = None,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Show tables and figures as in the paper: measured results, published ones, and their difference."""
    with needs_extra("lab"):
        from ddlcn_lab.report import make_report

        text = make_report(runs, "json" if as_json else kind, output, data)
    typer.echo(f"Wrote {output}" if output else text, nl=bool(output))


def _tell(text: str) -> None:
    """Show a line: on a terminal it replaces the one before."""
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{text:<60}" if end == "\r" else text, end=end, file=sys.stderr, flush=True)
