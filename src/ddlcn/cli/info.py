"""What a model file holds: `info`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal
from rich.table import Table

from ddlcn.cli import options
from ddlcn.cli.app import app, load_model
from ddlcn.cli.results import trained_on
from ddlcn.cli.terminal import console, printable, show_json

if TYPE_CHECKING:
    from ddlcn import DDLCNClassifier


@app.command()
def info(model: options.Model, as_json: options.Json = False) -> None:
    """Say what a model file holds."""
    facts = _facts(model, load_model(model))
    if as_json:
        show_json(facts)
    else:
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in _lines(facts):
            table.add_row(name, printable(text))
        console().print(table, soft_wrap=False)


def _facts(path: Path, model: "DDLCNClassifier") -> dict[str, Any]:
    from ddlcn.layers.coding import LocalityCoder
    from ddlcn.model_file import read_format

    network = model.network_
    hidden = ("descriptor", "image_shape", "n_jobs", "store")
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "format": read_format(path),
        "classes": model.classes_.tolist(),
        "n_train": model.n_train_,
        "picked_from": model.picked_from_,
        "upright": model.descriptor_.upright is not None,
        "copies": model.copies_,
        "layers": [
            {
                "atoms": len(atoms),
                "coder": "exact" if isinstance(coder, LocalityCoder) else "llc",
                **coder.get_params(),  # type: ignore[attr-defined]
            }
            for atoms, coder in zip(network.dictionaries, network.coders, strict=True)
        ],
        "descriptor": model.descriptor_.get_params(),
        "pyramid": network.pyramid.levels,
        "deep": network.deep,
        "svm": {"C": model.svm_.C_, "features": network.n_features},
        "settings": {name: value for name, value in model.get_params().items() if name not in hidden},
    }


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The same, to be read."""
    classes = [str(label) for label in facts["classes"]]
    return [
        ("model", f"{facts['model']}, {decimal(facts['bytes'])}, format {facts['format']}"),
        ("classes", f"{len(classes)}: {', '.join(classes[:12])}{', …' if len(classes) > 12 else ''}"),
        ("trained on", f"{trained_on(facts)}, copies: {facts['copies']}"),
        ("figures", "stand upright" if facts["upright"] else "as they are"),
        *((f"layer {depth}", _words(layer)) for depth, layer in enumerate(facts["layers"], start=1)),
        ("descriptor", _words(facts["descriptor"])),
        ("pyramid", " + ".join(f"{side}×{side}" for side in facts["pyramid"])),
        ("deep channel", f"length {facts['deep']:g}" if facts["deep"] else "none"),
        ("svm", _words(facts["svm"])),
        ("settings", _words(facts["settings"])),
    ]


def _words(values: dict[str, Any]) -> str:
    return " · ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in values.items() if value is not None
    )
