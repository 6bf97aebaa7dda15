"""The app that commands register with, and how they load a model or the packages of an extra."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import ddlcn
from ddlcn.cli import options
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import Listener, note_compilation


class _PlainHelp:
    """For commands whose help pages show names and no types of Python: MODEL, not {MODEL} <path>."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
            elif each.is_flag:
                each.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class _Command(_PlainHelp, TyperCommand):
    pass


class _Group(_PlainHelp, TyperGroup):
    pass


app = typer.Typer(
    cls=_Group,
    help="Image recognition with little data and no GPU: folders of images in, a small model file out.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="Start with: ddlcn demo. Each command has examples: ddlcn train --help",
)


def command(*examples: str, name: str | None = None) -> Callable[[Any], Any]:
    """Register a command; its help page ends with examples of its use."""
    heading = "Example:" if len(examples) == 1 else "Examples:"
    return app.command(name, cls=_Command, epilog="\n".join([heading, *examples]))


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


def load_model(path: Path, n_jobs: int = -1, quiet: bool = False) -> "ddlcn.DDLCNClassifier":
    """Load a model that classifies image files, whatever it was trained on."""
    if not quiet:
        note_compilation()
    return ddlcn.DDLCNClassifier.load(path).set_params(n_jobs=n_jobs, image_shape=None)


def load_data(
    data: Path, part: options.Part, strict: bool, n_jobs: int, tell: Listener, **least: int
) -> "ddlcn.ImageSet":
    """Load labelled images, and tell of each."""
    progress = partial(tell, "Reading")
    return ddlcn.load_images(data, part=part.value, strict=strict, n_jobs=n_jobs, progress=progress, **least)  # type: ignore[arg-type]


def typed() -> str:
    """Return the command line."""
    return shlex.join(["ddlcn", *sys.argv[1:]])


def check_report(folder: Path | None) -> None:
    """Raise if the folder of a report has a page of someone else: now, not after long work."""
    if folder:
        from ddlcn.report.html import report_page

        report_page(folder)


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Say how to install a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DDLCNError(f"{error.name} is not installed; pip install 'ddlcn[{extra}]'") from None
