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
from ddlcn_lab import options as lab


@command("ddlcn bench digits --out runs/digits --methods ddlcn,llc --pq 15-15 --splits 3")
def bench(
    dataset: Annotated[str, lab.DATASET],
    out: Annotated[Path, lab.OUT],
    data: Annotated[Path | None, lab.DATA] = None,
    methods: Annotated[str | None, lab.METHODS] = None,
    settings: Annotated[str | None, lab.SETTINGS] = None,
    t: Annotated[str | None, lab.T] = None,
    splits: Annotated[int | None, lab.SPLITS] = None,
    grid: Annotated[str, lab.GRID] = "table",
    leak: Annotated[bool, lab.LEAK] = False,
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
) -> None:
    """Run a grid of experiments. If interrupted, run the same command again to resume."""
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
    typer.echo(f"{total} rows in {out}; see ddlcn bench-report {out}")


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
