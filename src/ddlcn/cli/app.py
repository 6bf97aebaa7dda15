"""The app that commands register with, and how they load a model or the packages of an extra."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import ddlcn
from ddlcn.errors import DDLCNError

app = typer.Typer(
    help="Image recognition with little data and no GPU: folders of images in, a small model file out.",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ddlcn {ddlcn.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def load_model(path: Path, n_jobs: int = -1) -> "ddlcn.DDLCNClassifier":
    """Load a model that classifies image files, whatever it was trained on."""
    return ddlcn.DDLCNClassifier.load(path).set_params(n_jobs=n_jobs, image_shape=None)


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Say how to install a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DDLCNError(f"{error.name} is not installed; pip install 'ddlcn[{extra}]'") from None
