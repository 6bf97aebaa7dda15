"""Tables and figures of runs: text for a terminal, Markdown, one self-contained HTML page, or JSON."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from shutil import get_terminal_size

from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from ddlcn.errors import DDLCNError
from ddlcn.persistence.atomic import write_atomically
from ddlcn.report.html import render
from ddlcn_lab.figures import all_figures
from ddlcn_lab.results import Results
from ddlcn_lab.tables import Table, all_tables, not_run, train

_UNLIMITED = 10_000  # columns
# how the page of `ddlcn bench paper` starts
_PAGE = (
    "# All tables",
    """This page is generated. Do not edit it; run

```console
$ ddlcn bench paper
$ ddlcn bench-report docs/results/paper.jsonl --format markdown -o docs/results/tables.md
```""",
    """Accuracy in %, mean ± standard deviation over random splits. The interval is the 95 % interval of the mean, by
Student's t over splits; on MNIST's own split, over its test images. "Difference to best" is the mean of paired
differences to preset `best` (`ddlcn-best`) on the same splits, with half of its 95 % interval; intervals need three
splits. "Published" figures are those of the DDLCN paper's tables, whose splits were not released. `ddlcn` is preset
`paper`. "fit s" is the time of a training, "ms" that of a test image from file to label, both medians. "Balanced" is
the mean recall over classes, in %. "Not here": [we have no such
method](../methods.md#methods-that-do-not-run). PCANet-2 (except on AR) and M-HMP (except on AR and Caltech-256) see
images of at most 96 pixels, because larger ones take seconds each.""",
)


def make_report(
    runs: Iterable[str | os.PathLike[str]],
    kind: str = "terminal",
    output: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
) -> str:
    """Make the report of runs.

    Parameters
    ----------
    runs : iterable of paths
        Run folders of `ddlcn bench`.
    kind : "terminal", "markdown", "html" or "json"
    output : path, optional
        Where to write it; figures of Markdown are written beside it.
    data : path, optional
        Folder of the data sets, for example images.

    Returns
    -------
    str

    Raises
    ------
    DDLCNError
        If the format is unknown or a run can't be read.
    """
    if kind not in _RENDERERS:
        raise DDLCNError(f"format {kind!r} is unknown; choose from {', '.join(_RENDERERS)}")
    results = Results(runs)
    with_figures = kind == "html" or (kind == "markdown" and output is not None)
    figures = [(name, caption, _png(f)) for name, caption, f in all_figures(results, data)] if with_figures else []
    remarks = [*(_PAGE if results.sources and kind == "markdown" else ()), *_remarks(results)]
    text = _RENDERERS[kind](all_tables(results), figures, remarks)
    if output is not None:
        if kind == "markdown":
            for name, _, png in figures:
                write_atomically(Path(output).with_name(f"{name}.png"), png)
        write_atomically(output, text.encode())
    return text


def _remarks(results: Results) -> list[str]:
    """What a reader must know first."""
    remarks = []
    for name, (source, others) in results.sources.items():
        more = f"; {others} rows of other sources are left out" if others else ""
        commits = ", ".join(sorted(results.commits)) or "none"
        what = f"are of one source, {source} (commit {commits})" if results.rows else "are still to come"
        remarks.append(f"Rows of {name} {what}{more}.")
    columns = {(key.dataset, key.t) for key in results.rows}
    if empty := [f"{dataset} ({train(t)})" for dataset, t in not_run(results) if (dataset, t) not in columns]:
        remarks.append(f"Not run at all: {', '.join(empty)}.")
    if results.missing:
        remarks.append(f"{results.missing} rows are missing: run the same bench command again to resume.")
    if len(results.commits) > 1 and not results.sources:
        remarks.append(f"Rows come from {len(results.commits)} commits: {', '.join(sorted(results.commits))}.")
    return remarks


def _terminal(tables: list[Table], _: object, remarks: list[str]) -> str:
    """Text for a terminal, whose width long cells are folded to."""
    width = get_terminal_size().columns if sys.stdout.isatty() else _UNLIMITED
    parts = []
    for table in map(_filled, tables):
        grid = RichTable(*map(escape, table.header), box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
        for row in table.rows:
            grid.add_row(*map(Text, row))
        out = Console(file=io.StringIO(), width=width, color_system=None)
        with out.capture() as capture:
            out.print(grid)
        lines = map(str.rstrip, capture.get().splitlines())
        parts.append("\n".join([table.title, *([table.note] if table.note else []), "", *lines]))
    return "\n\n\n".join([*remarks, *parts]) + "\n"


def _filled(table: Table) -> Table:
    """A table without the columns that have no text in any row."""
    if not table.rows:
        return table
    kept = [at for at in range(len(table.header)) if any(row[at] for row in table.rows)]
    header, *rows = [tuple(row[at] for at in kept) for row in (table.header, *table.rows)]
    return replace(table, header=header, rows=rows)


def _markdown(tables: list[Table], figures: list[tuple[str, str, bytes]], remarks: list[str]) -> str:
    parts = list(remarks)
    for table in tables:
        parts += [f"## {table.title}", *([table.note] if table.note else []), markdown_table(table)]
    parts += [f"![{caption}]({name}.png)\n\n{caption}" for name, caption, _ in figures]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Return the rows of a table as Markdown, without title and note."""
    cells = [table.header, ("---",) * len(table.header), *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)


def _html(tables: list[Table], figures: list[tuple[str, str, bytes]], remarks: list[str]) -> str:
    pictures = [(caption, f"data:image/png;base64,{base64.b64encode(png).decode()}") for _, caption, png in figures]
    facts = {"tables": [*map(_filled, tables)], "figures": pictures, "remarks": remarks}
    return render("report.html", facts, generator="ddlcn bench-report", package="ddlcn_lab")


def _json(tables: list[Table], _: object, remarks: list[str]) -> str:
    return json.dumps({"remarks": remarks, "tables": [asdict(table) for table in tables]}, indent=2) + "\n"


_Renderer = Callable[[list[Table], list[tuple[str, str, bytes]], list[str]], str]
_RENDERERS: dict[str, _Renderer] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "html": _html,
    "json": _json,
}


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()
