"""What is in a model file: `info`."""

from pathlib import Path
from typing import Annotated, Any

from rich.filesize import decimal
from rich.table import Table

from ddlcn.cli import options
from ddlcn.cli.app import command, load_model
from ddlcn.cli.terminal import console, printable, show_json
from ddlcn.description import card, describe, describe_training, settings


@command("ddlcn info parts.ddlcn")
def info(model: Annotated[Path, options.MODEL], as_json: Annotated[bool, options.JSON] = False) -> None:
    """Show what is in a model file: when and on what it was trained, its test, channels, and what selection decided."""
    from ddlcn.persistence.model_file import read_format

    loaded = load_model(model)
    facts: dict[str, Any] = {"model": str(model), "bytes": model.stat().st_size, "format": read_format(model)}
    facts |= describe(loaded) | describe_training(loaded)
    if as_json:
        return show_json(facts)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    lines = [("model", f"{facts['model']}, {decimal(facts['bytes'])}, format {facts['format']}")]
    for name, texts in card(facts).items():
        lines += zip([name, *[""] * len(texts)], texts, strict=False)
    known = (".weight", ".atoms")  # as said of the channels above
    parts = [(name, text) for name, text in settings(facts).items() if not name.endswith(known)]
    lines += [("", ""), *parts, ("features", f"{facts['n_features']:,}")]
    for name, text in lines:
        table.add_row(name, printable(text))
    return console().print(table, soft_wrap=False)
