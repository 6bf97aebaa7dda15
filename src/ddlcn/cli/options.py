"""The arguments and options of commands, and how their values are parsed."""

import os
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ddlcn.errors import DDLCNError

Part = StrEnum("Part", ["train", "test"])
Preset = StrEnum("Preset", ["best", "paper"])
Coder = StrEnum("Coder", ["exact", "llc"])
Deskew = StrEnum("Deskew", ["yes", "no", "auto"])
Augmentation = StrEnum("Augmentation", ["none", "affine", "flip", "elastic", "auto"])
ClassWeight = StrEnum("ClassWeight", ["none", "balanced"])


def _kind(metavar: str, parse: Callable[[str], Any], give: str) -> Callable[..., Any]:
    """Return a function that makes options of one kind: its name in the help, its parser, and what to give instead."""

    def parser(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            raise typer.BadParameter(f"got {text!r}; give {give}") from None

    return partial(typer.Option, metavar=metavar, parser=parser)


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def _counts(text: str, most: int | None = None) -> tuple[int, ...]:
    found = tuple(map(_count, text.split(",")))
    if most and len(found) > most:
        raise ValueError
    return found


def _between(text: str, low: float = 0, high: float = float("inf")) -> float:
    if not low < float(text) < high:
        raise ValueError
    return float(text)


def _or_auto(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: text if text == "auto" else parse(text)


def parse_channels(text: str) -> dict[str, float | str | None]:
    """Return the weights in a text like `sift,sift_grid=0.5`; raise ValueError if it is none.

    >>> parse_channels("sift,sift_grid=0.5")
    {'sift': None, 'sift_grid': 0.5}
    """
    found = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        if not name or name in found:
            raise ValueError
        found[name] = _or_auto(_between)(weight) if equals else None
    return found


_CHANNELS = _kind("NAME[=WEIGHT],…", parse_channels, "names with or without weights above 0, as in sift,sift_grid=0.5")
_COUNT_OR_FRACTION = _kind(
    "N|FRACTION",
    lambda text: _between(text, high=1) if "." in text else _count(text),
    "a whole number from 1, or a fraction between 0 and 1",
)
_COUNT_ALL_OR_AUTO = _kind(
    "N|all|auto",
    _or_auto(lambda text: None if text in ("A", "all") else _count(text)),
    "a whole number from 1, all or auto",
)
_COUNT_OR_AUTO = _kind("N|auto", _or_auto(_count), "a whole number from 1, or auto")
_ATOMS = _kind(
    "N,…|none", lambda text: () if text == "none" else _counts(text), "whole numbers from 1, as in 64,32, or none"
)
_LAYERS = _kind("N", lambda text: (64,) * (_count(text) - 1), "a whole number from 1")
_NEIGHBORS = _kind("N[,N]", partial(_counts, most=2), "one or two whole numbers from 1, as in 15,10")
_SHARE = _kind("X", partial(_between, high=1), "a number between 0 and 1")
_POSITIVE_OR_AUTO = _kind("X|auto", _or_auto(_between), "a positive number, or auto")


def _seed(text: str) -> int:
    if not 0 <= int(text) < 2**32:
        raise ValueError
    return int(text)


def writable(path: Path | None) -> Path | None:
    """Return the path, or raise if no file can be written there."""
    if path is not None:
        from ddlcn.persistence.atomic import check_writable

        check_writable(path)  # now, not after long work
    return path


def folder(path: Path | None) -> Path | None:
    """Return the path, or raise if there can be no folder."""
    if path is not None:
        home = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not (home.is_dir() and os.access(home, os.W_OK)):
            why = f"{str(home)!r} is not a folder that can be written to; name another"
            raise DDLCNError(f"can't make {str(path)!r}: {why}")
    return path


def _work_of_training(address: str) -> str:
    if "://" not in address and not os.path.isdir(address):
        raise DDLCNError(f"--work {address!r}: does not exist; give the folder that was used with ddlcn train --work")
    return address


DATA = typer.Argument(
    metavar="DATA", help="A folder per class, a .csv or .tsv file of path,label, IDX files or an .npz file."
)
MODEL = typer.Argument(metavar="MODEL", help="A model file of ddlcn train.")
OUTPUT = typer.Option("--output", "-o", callback=writable, metavar="FILE", help="File to write.")
REPORT = typer.Option("--report", callback=folder, metavar="DIR", help="Folder for an HTML report about the test.")
FINDINGS = typer.Option("--output", "-o", callback=writable, metavar="FILE.csv", help="CSV file, one row per image.")
FINDINGS_REPORT = typer.Option(
    "--report", callback=folder, metavar="DIR", help="Folder for an HTML page with pictures."
)
TRAIN_DATA = typer.Option(metavar="DATA", help="Training images, for duplicates and nearest patches in the report.")
LEARNING_CURVE = typer.Option("--learning-curve", help="Add a learning curve to the report.")
FOLDS = typer.Option(min=2, metavar="K", help="Test each of K parts of the images by a model trained on the others.")
STRICT = typer.Option("--strict", help="Stop at a broken or misplaced image instead of skipping it.")
JSON = typer.Option("--json", help="Print one JSON object instead.")
SAFE_CSV = typer.Option("--safe-csv", help="In CSV, put ' before text that spreadsheets take for a formula.")
PART = typer.Option(help="Which part of IDX files or an .npz file that has two.")
TRAIN_PER_CLASS = _COUNT_OR_FRACTION(
    "--train-per-class",
    "-t",
    help="Train on this number, or fraction, of images per class, and test on the others.",
    show_default="all images, no test",
)

# ------------------------------------------------------------------------------------------ unknown images

_UNKNOWN: dict[str, Any] = {"rich_help_panel": "Unknown images"}

REJECT = typer.Option("--reject", help="Give images unlike the training images the label unknown.", **_UNKNOWN)
FALSE_ALARMS = _SHARE(
    help="Share of images of known classes that may be rejected as unlike the training images.",
    show_default="0.05, or what the model allows up to 0.1",
    **_UNKNOWN,
)
MIN_PROBABILITY = _SHARE(help="Give images whose best class is less probable the label unknown.", **_UNKNOWN)
UNKNOWN_LABEL = typer.Option(metavar="NAME", help="The label of rejected images.", **_UNKNOWN)
UNKNOWN_TESTED = typer.Option(
    metavar="NAME", help="Label of images in DATA that are to be rejected, if no class has this name.", **_UNKNOWN
)
COVERAGE = _SHARE(
    help="Add a column of all labels that an image may have: the true one is among them in this share of images.",
    **_UNKNOWN,
)
CLASS_CONDITIONAL = typer.Option(
    "--class-conditional", help="Reach --coverage for each class, not only on average.", **_UNKNOWN
)

# ---------------------------------------------------------------------------------------------------- work

_WORK: dict[str, Any] = {"rich_help_panel": "Work"}

WORK = typer.Option(
    "--work",
    metavar="DIR",
    help="Work folder or fsspec address, which is kept for ddlcn extend and for later trainings.",
    show_default="OUTPUT.work until the model is written",
    **_WORK,
)
WORK_OF_FOLDS = typer.Option(
    "--work",
    metavar="DIR",
    help="Work folder or fsspec address, which is kept: if interrupted, run the same command again to resume.",
    show_default="none",
    **_WORK,
)
WORK_OF_TRAINING = typer.Option(
    "--work", callback=_work_of_training, metavar="DIR", help="The --work folder that MODEL was trained with."
)
SCHEDULER = typer.Option(
    metavar="ADDRESS", help="Dask scheduler; its workers must see DATA and --work under the same paths.", **_WORK
)
SEED = _kind("N", _seed, "a whole number from 0 to 4294967295")(help="The same seed gives the same result.", **_WORK)
JOBS = typer.Option("--jobs", "-j", min=1, metavar="N", help="Threads.", show_default="all cores", **_WORK)
QUIET = typer.Option("--quiet", "-q", help="Show no progress.", **_WORK)

# --------------------------------------------------------------------------------------------------- model

_PANEL: dict[str, Any] = {"rich_help_panel": "Model"}
_FROM_PRESET: dict[str, Any] = _PANEL | {"show_default": "from the preset"}

PRESET = typer.Option(help="Default values for all options that you leave out, and for auto.", **_PANEL)
CHANNELS = _CHANNELS(
    help="Channels of the preset to use, with their weights, as in sift,sift_grid=0.5.",
    show_default="all of the preset",
    **_PANEL,
)
BACKBONE = typer.Option(
    metavar="NAME|FILE.onnx",
    help="Add channels of a frozen network: efficientnet-lite0, -lite1, -lite2, or an ONNX image model.",
    show_default="none",
    **_PANEL,
)
IMAGES_PER_CLASS = _COUNT_ALL_OR_AUTO(
    "--images-per-class", help="Images per class that its dictionary is learnt from.", **_PANEL
)
ATOMS_PER_CLASS = _COUNT_OR_AUTO("--atoms-per-class", help="Atoms per class in the first dictionary.", **_PANEL)
DEEPER_ATOMS = _ATOMS(help="Atoms of layers 2, 3, …; none is one layer.", **_PANEL)
LAYERS = _LAYERS(
    help="Number of layers; each deeper layer has 64 atoms. Short for --deeper-atoms.", show_default="2", **_PANEL
)
NEIGHBORS = _NEIGHBORS(help="Nearest atoms in a code of sift: in layer 1, and in deeper layers.", **_FROM_PRESET)
CODER = typer.Option(help="Codes of sift: Eq. 5 solved exactly, or LLC.", **_FROM_PRESET)
BETA = typer.Option(min=0, metavar="X", help="Price of far atoms (exact coder).", **_FROM_PRESET)
DESKEW = typer.Option(
    help="Deskew and scale a foreground on a uniform background. auto: preset best chooses on held-out images.",
    **_PANEL,
)
AUGMENTATION = typer.Option(
    metavar="POLICY",
    help="Augmented copies to train on: none, affine, flip, elastic or auto. auto: preset best chooses one of the "
    "first three on held-out images.",
    **_PANEL,
)
C = _POSITIVE_OR_AUTO(
    "--C", help="Weight of errors in the SVM. auto: preset best chooses on held-out images.", **_PANEL
)
CLASS_WEIGHT = typer.Option(help="balanced: all classes count alike, however many images they have.", **_PANEL)
