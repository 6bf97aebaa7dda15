"""A model on the web: `serve`."""

import os
from typing import Annotated

import typer

from ddlcn.cli import options
from ddlcn.cli.app import app, load_model
from ddlcn.cli.terminal import console, printable
from ddlcn.errors import DDLCNError


@app.command()
def serve(
    model: options.Model,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen here; beyond this machine a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 is any free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DDLCN_TOKEN",
            help="What clients must send.",
            show_default="made up if needed",
        ),
    ] = None,
    jobs: options.Jobs = None,
) -> None:
    """Show what a model sees on a page in the browser, with a JSON API beside it."""
    if token is not None and not (
        len(token) >= 8 and token.isascii() and token.isprintable() and " " not in token
    ):
        raise DDLCNError("--token: give 8 or more letters, digits and signs without spaces")
    judge = load_model(model)
    try:
        from ddlcn.serve import serve
    except ModuleNotFoundError as error:
        raise DDLCNError(f"{error.name} is not installed; pip install 'ddlcn[serve]'") from None

    def tell(address: str) -> None:
        out = console()
        out.print(f"{printable(model.stem)} is at {address}")
        out.print("The API is described at /docs. Ctrl-C ends it.", style="dim")

    threads = jobs or os.cpu_count() or 1
    serve(judge, name=model.stem, host=host, port=port, token=token, threads=threads, tell=tell)
