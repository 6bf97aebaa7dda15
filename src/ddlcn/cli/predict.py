"""Classify images: `predict`. Predictions are written as they come, a chunk of images at a time."""

import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

import ddlcn
from ddlcn.cli import options
from ddlcn.cli.app import command, load_model
from ddlcn.cli.rejection import RejectionOptions, Row, default_false_alarms
from ddlcn.cli.sorting import Sorter
from ddlcn.cli.terminal import console, disarmed, printable
from ddlcn.errors import DDLCNError, ImageError, listed
from ddlcn.execution.progress import Listener, progress_bars

Format = StrEnum("Format", ["table", "csv", "json", "jsonl"])
_IMAGES_AT_ONCE = 64
_INDENT = "    "  # of the further lines of a row that is wider than the terminal
# A row: path, label, probability, label_2, probability_2, …, reason, labels, error, sorted_to, probabilities; None
# where there is none.


@command(
    "ddlcn predict parts.ddlcn new/*.jpg",
    "ddlcn predict parts.ddlcn new/ -o labels.csv --probabilities",
    "ddlcn predict parts.ddlcn new/ --sort-into sorted",
    "ddlcn predict parts.ddlcn new/ --reject --min-probability 0.8",
)
def predict(
    model: Annotated[Path, options.MODEL],
    images: Annotated[
        list[str],
        typer.Argument(metavar="IMAGES", help="Files, folders, or - for a list of paths on standard input."),
    ],
    output: Annotated[Path | None, options.OUTPUT] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Format of the output.", show_default="by the suffix of --output; table on a terminal, else csv"
        ),
    ] = None,
    as_json: Annotated[bool, options.JSON] = False,
    safe_csv: Annotated[bool, options.SAFE_CSV] = False,
    top: Annotated[int, typer.Option(min=1, metavar="K", help="Give the K most likely labels.")] = 1,
    every: Annotated[
        bool, typer.Option("--probabilities", help="Give the probability of every class: a column P(label) each.")
    ] = False,
    sort_into: Annotated[
        Path | None,
        typer.Option(
            callback=options.folder,
            metavar="DIR",
            help="Copy each image into the folder of its predicted label in DIR. Nothing is overwritten.",
        ),
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="With --sort-into, make symbolic links instead.")] = False,
    reject: Annotated[bool, options.REJECT] = False,
    false_alarms: Annotated[Any, options.FALSE_ALARMS] = None,
    min_probability: Annotated[Any, options.MIN_PROBABILITY] = None,
    unknown_label: Annotated[str, options.UNKNOWN_LABEL] = "unknown",
    coverage: Annotated[Any, options.COVERAGE] = None,
    class_conditional: Annotated[bool, options.CLASS_CONDITIONAL] = False,
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    strict: Annotated[bool, options.STRICT] = False,
) -> None:
    """Classify images. Exit code 2 if no image can be read."""
    from ddlcn.persistence.atomic import write_atomically

    if as_json and format not in (None, Format.json):
        raise DDLCNError(f"--json and --format {format} exclude each other; give one of them")
    if link and not sort_into:
        raise DDLCNError("--link is about --sort-into; name its folder with --sort-into DIR")
    classifier = load_model(model, jobs or -1, quiet)
    if reject and false_alarms is None:
        false_alarms = default_false_alarms(classifier)
    rejection = RejectionOptions(
        classifier, unknown_label, reject, false_alarms, min_probability, coverage, class_conditional
    )
    labels = [*classifier.classes_.tolist(), *[unknown_label] * rejection.rejects]
    sorter = Sorter(sort_into, labels, link, images) if sort_into else None
    paths, _ = ddlcn.find_images(chain.from_iterable(_listed() if name == "-" else [name] for name in images))
    on_screen = output is None and sys.stdout.isatty()
    by_suffix = Format.__members__.get(output.suffix.lower()[1:]) if output else None
    wanted = Format.json if as_json else format or by_suffix or (Format.table if on_screen else Format.csv)
    write = partial(_csv, safe=safe_csv, escape=on_screen) if wanted is Format.csv else _WRITERS[wanted]
    broken: list[Row] = []
    with progress_bars(not (on_screen or quiet)) as tell:
        most = min(top, len(classifier.classes_))
        chunks = _predictions(classifier, paths, most, every, rejection, sorter, strict, broken, tell)
        text = write(chunks)
        if output:
            write_atomically(output, "".join(text).encode(errors="backslashreplace"))
        for part in text:
            print(part, end="", flush=True)
    if output and not quiet:
        console(stderr=True).print(f"Wrote {printable(output)}")
    if sorter:
        shown = listed((f"{printable(name)} {n}" for name, n in sorted(sorter.counts.items())), 12)
        what = "Linked" if link else "Copied"
        there = f" ({sorter.n_there:,} of them were there already)" if sorter.n_there else ""
        note = f"{what} {sorter.counts.total():,} images into {printable(sort_into)}{there}: {shown}"
        console(stderr=True).print(note)
    if len(broken) == len(paths):
        raise DDLCNError(f"no image could be read; {broken[0]['path']!r} {broken[0]['error']}")
    if broken:
        console(stderr=True).print(f"{len(broken)} of {len(paths)} images can't be read", style="yellow")


def _listed() -> list[str]:
    """The paths on standard input, one per line."""
    return [path for path in os.fsdecode(sys.stdin.buffer.read()).splitlines() if path]


def _predictions(
    model: "ddlcn.DDLCNClassifier",
    paths: list[str],
    top: int,
    every: bool,
    rejection: RejectionOptions,
    sorter: Sorter | None,
    strict: bool,
    broken: list[Row],
    tell: Listener,
) -> Iterator[list[Row]]:
    """Rows for images; those of images that can't be read have the reason, and are in `broken` too."""
    from joblib import Parallel, delayed

    from ddlcn.images import check_image

    ranks = [("label", "probability"), *((f"label_{k}", f"probability_{k}") for k in range(2, top + 1))]
    labels = model.classes_.tolist()
    blank: Row = dict.fromkeys(["path", *chain.from_iterable(ranks), *rejection.columns, "error"])
    blank |= ({"sorted_to": None} if sorter else {}) | (
        {"probabilities": dict.fromkeys(map(str, labels))} if every else {}
    )
    tell("Predicting", 0, len(paths))
    for start in range(0, len(paths), _IMAGES_AT_ONCE):
        chunk = paths[start : start + _IMAGES_AT_ONCE]
        errors = Parallel(n_jobs=model.n_jobs, prefer="threads")(delayed(check_image)(path) for path in chunk)
        rows = [blank | {"path": path, "error": error} for path, error in zip(chunk, errors, strict=True)]
        broken += [row for row in rows if row["error"]]
        if strict and broken:
            raise ImageError(f"{broken[0]['path']!r} {broken[0]['error']}")
        good = [row for row in rows if not row["error"]]
        found = rejection.assess([row["path"] for row in good]) if good else ()
        for row, (probabilities, more) in zip(good, found, strict=True):
            order = (-probabilities).argsort(kind="stable")
            for (label, probability), number in zip(ranks, order, strict=False):
                row[label] = labels[number]
                row[probability] = round(float(probabilities[number]), 6)
            row |= more
            if every:
                row["probabilities"] = dict(zip(map(str, labels), probabilities.round(6).tolist(), strict=True))
            if sorter:
                row["sorted_to"] = sorter.put(row["path"], row["label"])
        tell("Predicting", start + len(chunk), len(paths))
        yield rows


# ------------------------------------------------------------------------------------------------- writers


def _flat(row: Row) -> Row:
    """A row with a column P(label) for each class instead of `probabilities`, and text instead of lists."""
    every = {f"P({label})": probability for label, probability in row.get("probabilities", {}).items()}
    row = {name: " | ".join(map(str, each)) if isinstance(each, list) else each for name, each in row.items()}
    return {name: value for name, value in row.items() if name != "probabilities"} | every


def _csv(chunks: Iterator[list[Row]], safe: bool, escape: bool) -> Iterator[str]:
    """CSV; safe for spreadsheets if asked, and with control characters escaped for a terminal."""

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        value = disarmed(value) if safe else value
        return printable(value) if escape else value

    for number, rows in enumerate(list(map(_flat, chunk)) for chunk in chunks):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if number == 0:
            writer.writerow(map(cell, rows[0]))
        writer.writerows(map(cell, row.values()) for row in rows)
        yield out.getvalue()


def _json(chunks: Iterator[list[Row]]) -> Iterator[str]:
    rows = list(chain.from_iterable(chunks))
    counts = {"n_images": len(rows), "n_unreadable": sum(row["error"] is not None for row in rows)}
    counts |= {"n_rejected": sum(row.get("reason") is not None for row in rows)}
    yield json.dumps(counts | {"predictions": rows}, indent=2) + "\n"


def _jsonl(chunks: Iterator[list[Row]]) -> Iterator[str]:
    return (f"{json.dumps(row)}\n" for rows in chunks for row in rows)


def _table(chunks: Iterator[list[Row]]) -> Iterator[str]:
    out = console()
    widths: dict[str, int] = {}
    for rows in ([_long_last(_flat(row)) for row in chunk] for chunk in chunks):
        head = {name: printable(name) for name in rows[0]} | {"error": ""}
        cells = [head, *({name: _cell(value) for name, value in row.items()} for row in rows)]
        first = not widths
        # columns never become narrower, so that chunks are aligned
        widths = {name: max(widths.get(name, 0), *(cell_len(row[name]) for row in cells)) for name in head}
        with out.capture() as text:
            for row in cells[not first :]:
                styles = {"label": "bold", "error": "red"} if row is not head else dict.fromkeys(head, "dim")
                shown = ["path", "error"] if row["error"] else head  # no empty columns before the reason
                texts = (Text(set_cell_size(row[name], widths[name]), styles.get(name, "")) for name in shown)
                line = Text("  ").join(texts)
                line.rstrip()
                fits = not out.is_terminal or line.cell_len <= out.width
                for number, part in enumerate([line] if fits else line.wrap(out, out.width - len(_INDENT))):
                    out.print(Text(_INDENT * bool(number)) + part)
        yield text.get()


def _long_last(row: Row) -> Row:
    """A row that ends with its sentences, which would push other columns off the screen."""
    return {name: row[name] for name in sorted(row, key=("reason", "error").__contains__)}


def _cell(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, float) else "" if value is None else printable(value)


_WRITERS = {Format.json: _json, Format.jsonl: _jsonl, Format.table: _table}
