"""The arguments and options of commands, and how their values are read."""

import os
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ddlcn.errors import DDLCNError

Part = StrEnum("Part", ["train", "test"])
Preset = StrEnum("Preset", ["best", "paper"])
Coder = StrEnum("Coder", ["exact", "llc"])
Copies = StrEnum("Copies", ["none", "moved", "bent", "mirrored", "cv"])
Format = StrEnum("Format", ["table", "csv", "jsonl"])


def _option(*names: str, read: Callable[[str], Any], give: str, **more: Any) -> Any:
    """An option whose text is read by a function, with what to give instead of text that can't be."""

    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise typer.BadParameter(f"got {text!r}; give {give}") from None

    return typer.Option(*names, parser=parse, **more)


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(_count, text.split(",")))


def _between(text: str, low: float, high: float) -> float:
    if not low < float(text) < high:
        raise ValueError
    return float(text)


def _length(text: str) -> float:
    if not 0 <= float(text) <= 1e6:
        raise ValueError
    return float(text)


def _whether(text: str) -> bool | str:
    if text not in ("yes", "no", "cv"):
        raise ValueError
    return text if text == "cv" else text == "yes"


def _writable(path: Path | None) -> Path | None:
    if path is not None:
        from ddlcn.model_file import check_writable

        check_writable(path)  # now, not after long work
    return path


def _folder(path: Path | None) -> Path | None:
    if path is not None:
        home = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not (home.is_dir() and os.access(home, os.W_OK)):
            raise DDLCNError(
                f"can't make {str(path)!r}: {str(home)!r} is no folder to write to; name another"
            )
    return path


Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A folder per class, a .csv of path,label, IDX files or an .npz."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model made by ddlcn train.")]
Output = Annotated[Path, typer.Option("--output", "-o", callback=_writable, help="Write to this file.")]
MaybeOutput = Annotated[
    Path | None, typer.Option("--output", "-o", callback=_writable, help="Write to this file.")
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", callback=_folder, metavar="DIR", help="Write a page about the test to this folder."
    ),
]
TrainData = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA",
        help="The training images, to look for duplicates among them and for the patches nearest to atoms.",
    ),
]
LearningCurve = Annotated[
    bool,
    typer.Option("--learning-curve", help="Train on fewer images too, for a curve in the report."),
]
Work = Annotated[
    str | None,
    typer.Option(
        "--work",
        metavar="DIR",
        help="Keep finished work in this folder or fsspec path, also in the end, for the next training.",
        show_default="OUTPUT.work until the model is written",
    ),
]
WorkOf = Annotated[
    str, typer.Option("--work", metavar="DIR", help="What was given as --work when MODEL was trained.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work on a Dask cluster, whose workers must find DATA and --work where this machine does.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="The same seed gives the same result.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Threads.", show_default="all cores")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse broken images rather than skip them.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
ThePart = Annotated[Part, typer.Option("--part", help="Which part of IDX files or an .npz that has two.")]
TheFormat = Annotated[
    Format | None,
    typer.Option("--format", help="How to write.", show_default="table on a terminal, else csv"),
]
TrainPerClass = Annotated[
    Any,
    _option(
        *("--train-per-class", "-t"),
        read=lambda text: _between(text, 0, 1) if "." in text else _count(text),
        give="a whole number from 1, or a fraction between 0 and 1",
        metavar="N|FRACTION",
        help="Train on so many images of each class, or that fraction, and test on the rest.",
        show_default="all, none to test",
    ),
]

# ------------------------------------------------------------------------------------------------- network

_network = partial(_option, rich_help_panel="Network")

ThePreset = Annotated[
    Preset, typer.Option("--preset", help="Decides what is not given.", rich_help_panel="Network")
]
ImagesPerClass = Annotated[
    Any,
    _network(
        *("--images-per-class", "-p"),
        read=lambda text: None if text in ("A", "all") else _count(text),
        give="a whole number from 1, or all",
        metavar="N|all",
        help="Images of each class that its dictionary is learnt from.",
    ),
]
AtomsPerClass = Annotated[
    Any,
    _network(
        *("--atoms-per-class", "-q"),
        read=_count,
        give="a whole number from 1",
        metavar="N",
        help="Atoms of the first dictionary for each class.",
    ),
]
DeeperAtoms = Annotated[
    Any,
    _network(
        "--deeper-atoms",
        read=lambda text: () if text == "none" else _counts(text),
        give="whole numbers from 1, as in 64,32, or none",
        metavar="N,…|none",
        help="Atoms of layers 2, 3, …; none is one layer.",
    ),
]
Layers = Annotated[
    Any,
    _network(
        "--layers",
        read=lambda text: (64,) * (_count(text) - 1),
        give="a whole number from 1",
        metavar="N",
        help="So many layers, the deeper ones of 64 atoms each: short for --deeper-atoms.",
        show_default="2",
    ),
]
Neighbors = Annotated[
    Any,
    _network(
        "--neighbors",
        read=_counts,
        give="whole numbers from 1, as in 15,10",
        metavar="N,…",
        help="Nearest atoms in a code, for each layer.",
        show_default="by preset",
    ),
]
TheCoder = Annotated[
    Coder | None,
    typer.Option(
        "--coder",
        help="Eq. 5 exactly, or LLC's closed form.",
        rich_help_panel="Network",
        show_default="by preset",
    ),
]
Beta = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="X",
        help="Price of far atoms (exact coder).",
        rich_help_panel="Network",
        show_default="by preset",
    ),
]
Deep = Annotated[
    Any,
    _network(
        "--deep",
        read=lambda text: text if text == "cv" else _length(text),
        give="a number from 0 to 1e6, or cv",
        metavar="X|cv",
        help="Length of the deep channel beside pooled codes; cv tries some on images held out.",
        show_default="by preset",
    ),
]
Upright = Annotated[
    Any,
    _network(
        "--upright",
        read=_whether,
        give="yes, no or cv",
        metavar="yes|no|cv",
        help="Stand figures on plain ground upright; cv asks images held out.",
        show_default="by preset",
    ),
]
TheCopies = Annotated[
    Copies | None,
    typer.Option(
        "--copies",
        help="Copies of the images to train on beside them; cv asks images held out, and bends hard figures.",
        rich_help_panel="Network",
        show_default="by preset",
    ),
]
C = Annotated[
    Any,
    _network(
        "--C",
        read=lambda text: text if text == "cv" else _between(text, 0, float("inf")),
        give="a positive number, or cv",
        metavar="X|cv",
        help="Weight of errors in the SVM; cv chooses it by cross-validation.",
        show_default="by preset",
    ),
]
