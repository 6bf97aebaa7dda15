"""Learn and test: `demo`, `train`, `evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddlcn.cli.app import Data, Jobs, Json, Model, Part, Seed, Strict, app
from ddlcn.cli.results import result_of
from ddlcn.cli.terminal import progress, show_result
from ddlcn.progress import Listener, listen

if TYPE_CHECKING:
    from ddlcn import DDLCNClassifier, ImageSet
    from ddlcn.evaluation import Evaluation

Preset = StrEnum("Preset", ["best", "paper"])
Coder = StrEnum("Coder", ["exact", "llc"])


def _option(*names: str, read: Callable[[str], Any], form: str, metavar: str, **more: Any) -> Any:
    """An option whose text is read by a function; `form` is what to give instead of what can't be read."""

    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no {form}") from None

    return typer.Option(*names, parser=parse, metavar=metavar, **more)


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(_count, text.split(",")))


_layer = partial(_option, rich_help_panel="Network")


@app.command()
def demo(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model here.")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Learn handwritten digits from half of scikit-learn's 1,797, and test on the other half."""
    start = perf_counter()
    from sklearn.datasets import load_digits

    from ddlcn import DDLCNClassifier, ImageSet

    digits = load_digits()
    images = ImageSet.of(digits.images, digits.target, "digits")
    model = DDLCNClassifier(random_state=seed, n_jobs=jobs or -1)
    with progress() as tell:
        evaluation = _learn(model, *images.split(0.5, seed), output, tell)
    show_result(result_of(model, images, evaluation, perf_counter() - start, output), as_json)


@app.command()
def train(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the model here.")],
    train_per_class: Annotated[
        Any,
        _option(
            *("--train-per-class", "-t"),
            read=lambda text: float(text) if "." in text else _count(text),
            form="whole number or fraction; give one such as 30 or 0.5",
            metavar="N|0.N",
            help="Train on so many images of each class, or that fraction, and test on the rest.",
        ),
    ] = None,
    preset: Annotated[Preset, typer.Option(rich_help_panel="Network", help="What the rest defaults to.")] = Preset.best,  # type: ignore[attr-defined]
    images_per_class: Annotated[
        Any,
        _layer(
            *("--images-per-class", "-p"),
            read=lambda text: None if text in ("A", "all") else _count(text),
            form="whole number; give one such as 15, or all",
            metavar="N|all",
            help="Images of a class that its dictionary is learnt from.",
        ),
    ] = "15",
    atoms_per_class: Annotated[
        int, typer.Option("-q", "--atoms-per-class", min=1, help="Atoms of a class's dictionary.")
    ] = 15,
    deeper_atoms: Annotated[Any, _layer(read=lambda text: () if text == "none" else _counts(text), form="")] = "64",
) -> None:
    """Train on labelled images and write the model to one file."""
