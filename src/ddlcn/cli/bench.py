"""The paper's experiments: `bench`, `bench-report`."""

import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from ddlcn.cli import options
from ddlcn.cli.app import app
from ddlcn.cli.interrupts import interruptible

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the data sets.", show_default="$DDLCN_DATA or ~/.cache/ddlcn"),
]


@app.command()
def bench(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="mnist, yaleb, yaleb-excluded, ar, caltech101, caltech256, digits or folder:PATH.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Run directory: a new one, or one to go on with.")],
    data: Data = None,
    methods: Annotated[
        str | None, typer.Option(help="Names, as in ddlcn,llc,ddlcn:beta=0.05.", show_default="ddlcn")
    ] = None,
    settings: Annotated[
        str | None, typer.Option("--pq", help="As in 1-1,15-15,A-15.", show_default="the paper's")
    ] = None,
    t: Annotated[
        str | None,
        typer.Option("--t", help="Training images a class: 15,30 or 0.5 or all.", show_default="the paper's"),
    ] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits.", show_default="the paper's")] = None,
    grid: Annotated[str, typer.Option("--grid", help="table, curves, paper-curves or ablation.")] = "table",
    leak: Annotated[
        bool,
        typer.Option(
            "--leak-dictionary-images-from-test-set",
            help="Also run each row with the paper's mistake, to see how much it inflates.",
        ),
    ] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Run a grid of experiments. Stop it when you like: the same command goes on where it was."""
    from ddlcn.experiments.bench import bench as fill
    from ddlcn.experiments.grid import make_grid

    asked = make_grid(dataset, grid, methods, settings, t, splits, seed, leak)
    start, first, done, total = perf_counter(), None, 0, 0
    with interruptible(lambda: f"the {done} rows are kept, the same command goes on"):
        for done, total in fill(asked, out, data, jobs or -1):
            first = done if first is None else first
            left = (total - done) * (perf_counter() - start) / max(1, done - first)
            _tell(f"{done} of {total} rows" + (f", {_duration(left)} left" if first < done < total else ""))
    typer.echo(f"{total} rows in {out}; see ddlcn bench-report {out}")


@app.command("bench-report")
def bench_report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories of ddlcn bench.")],
    kind: Annotated[str, typer.Option("--format", help="terminal, markdown or html.")] = "terminal",
    output: options.MaybeOutput = None,
    data: Data = None,
    as_json: options.Json = False,
) -> None:
    """The paper's tables and figures: ours, published, and the difference."""
    from ddlcn.experiments.report import make_report

    text = make_report(runs, "json" if as_json else kind, output, data)
    typer.echo(f"Wrote {output}" if output else text, nl=bool(output))


def _tell(text: str) -> None:
    """A line that replaces itself on a terminal, and stays in a log."""
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{text:<60}" if end == "\r" else text, end=end, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> _duration(3725)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
