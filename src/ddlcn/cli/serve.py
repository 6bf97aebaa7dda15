"""A model as a web page and a JSON API: `serve`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ddlcn.cli import options
from ddlcn.cli.app import command, load_model, needs_extra
from ddlcn.cli.terminal import console, printable
from ddlcn.errors import DDLCNError


@command("ddlcn serve parts.ddlcn", "ddlcn serve parts.ddlcn --host 0.0.0.0 --token a-long-secret")
def serve(
    model: Annotated[Path, options.MODEL],
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; other machines need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 is any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="DDLCN_TOKEN",
            help="The token that clients must send.",
            show_default="a random one if needed",
        ),
    ] = None,
    jobs: Annotated[int | None, options.JOBS] = None,
) -> None:
    """Serve a model: a page for the browser that classifies and explains images, and a JSON API."""
    if token is not None and not (len(token) >= 8 and token.isascii() and token.isprintable() and " " not in token):
        raise DDLCNError("--token: give 8 or more letters, digits and signs without spaces")
    classifier = load_model(model)
    with needs_extra("serve"):
        from ddlcn.serve import serve

    def tell(address: str) -> None:
        console().print(f"{printable(model.stem)} is at {address}")
        console().print("The API is described at /docs. Stop the server with Ctrl-C.", style="dim")

    threads = jobs or os.cpu_count() or 1
    serve(classifier, name=model.stem, host=host, port=port, token=token, threads=threads, tell=tell)
