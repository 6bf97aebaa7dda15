"""The app that commands register with, and the options that they share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Image recognition with little data and no GPU: folders of images in, a small model file out.",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)

Part = StrEnum("Part", ["train", "test"])

Data = Annotated[Path, typer.Argument(help="A folder per class, a .csv of path,label, IDX files or an .npz.")]
Model = Annotated[Path, typer.Argument(help="A model made by ddlcn train.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same result.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Threads.", show_default="all cores")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse broken images rather than skip them.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def _version(wanted: bool) -> None:
    if wanted:
        from ddlcn import __version__

        typer.echo(f"ddlcn {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
