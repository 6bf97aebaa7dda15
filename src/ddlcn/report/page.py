"""The report: all that is worth knowing about a tested model, in one HTML page that needs nothing else.

Text from users only ever passes through the template's escaping, and the page's security policy lets no
script run but its own.
"""

from __future__ import annotations

import os
import platform
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.evaluation import Evaluation
from ddlcn.images import ImageSet
from ddlcn.model_file import write_atomically
from ddlcn.progress import track
from ddlcn.report.atoms import Layer, layers
from ddlcn.report.confusions import MOST_CELLS, class_rows, heat
from ddlcn.report.curve import Point
from ddlcn.report.examples import Examples, Picture, image_name, thumbnail
from ddlcn.report.leaks import find_leaks
from ddlcn.report.pixels import data_uri
from ddlcn.report.strokes import svg_paths
from ddlcn.report.tiles import signed

_LEAKS, _SKIPPED, _ATOMS = 12, 200, 24  # shown at most


def write_report(
    directory: str | os.PathLike[str],
    evaluation: Evaluation,
    model: DDLCNClassifier,
    test: ImageSet,
    *,
    train: ImageSet | None = None,
    command: str = "",
    stages: Mapping[str, float] = MappingProxyType({}),
    learning_curve: Sequence[Point] = (),
) -> Path:
    """Write `index.html` into a directory, which is made if need be, and return its path.

    Parameters
    ----------
    evaluation : Evaluation
        The model's answers on `test`, in its order.
    train : ImageSet, optional
        The training images, to look for duplicates among the test images and for patches near the atoms.
    command : str
        What was typed.
    stages : mapping
        Seconds of what came before training, by name.
    learning_curve : sequence of Point
        See `learning_curve`.
    """
    if len(evaluation.truth) != len(test):
        raise DDLCNError(
            f"{len(evaluation.truth)} answers for {len(test)} images: evaluate this very ImageSet"
        )
    page = Path(directory, "index.html")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DDLCNError(f"can't make {str(directory)!r} ({error.strerror}): choose another folder") from None
    examples = Examples(model, evaluation, test)
    few = len(evaluation.classes) <= MOST_CELLS
    parts = {
        "classes": lambda: class_rows(evaluation),
        "matrix": lambda: _cells(evaluation) if few else None,
        "heat": lambda: None if few else heat(evaluation),
        "pairs": examples.pairs,
        "mistakes": examples.mistakes,
        "best": examples.best,
        "leaks": lambda: None if train is None else _leaks(model, train, test),
        "layers": lambda: _drawn(layers(model, None if train is None else train.images, _ATOMS)),
        "curve": lambda: _curve(learning_curve),
    }
    facts = {
        "evaluation": evaluation,
        "model": model,
        "n_test": len(test),
        "n_train": 0 if train is None else len(train),
        "source": Path(test.source).name,
        "command": command,
        "skipped": list(dict.fromkeys((train.skipped if train else []) + test.skipped)),
        "passed_over": test.passed_over,
        "most_skipped": _SKIPPED,
        "most_leaks": _LEAKS,
        "stages": {**stages, **model.timings_, "testing": evaluation.seconds},
        "memory": _peak_memory(),
        "settings": _settings(model),
        "machine": _machine(),
        "written": datetime.now().astimezone(),
    }
    facts |= {name: make() for name, make in track("Report", parts.items(), total=len(parts))}
    write_atomically(page, _render(facts).encode("utf-8", "replace"))  # file names may be no Unicode
    return page


def _render(facts: dict[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("ddlcn.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": lambda share: "–" if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%",
        "signed": lambda value: signed(value, 3),
        "breakable": lambda name: Markup("/<wbr>").join(str(name).split("/")),
    }
    style, script = (
        resources.files("ddlcn.report").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js")
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        facts, style=Markup(style), script=Markup(script), script_digest=digest
    )


def _cells(evaluation: Evaluation) -> list[list[tuple[int, float]]]:
    """Counts and shares of the true class, row by row."""
    counts = evaluation.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return [list(zip(*row, strict=True)) for row in zip(counts.tolist(), shares.tolist(), strict=True)]


def _leaks(model: DDLCNClassifier, train: ImageSet, test: ImageSet) -> dict[str, Any]:
    found = find_leaks(model, train, test)
    shown = [
        {
            "leak": leak,
            "train": thumbnail(model, train, leak.train),
            "test": thumbnail(model, test, leak.test),
            "labels": (train.labels[leak.train], test.labels[leak.test]),
        }
        for leak in found[:_LEAKS]
    ]
    rest = [(image_name(train, leak.train), image_name(test, leak.test)) for leak in found[_LEAKS:500]]
    return {"n": len(found), "exact": sum(leak.exact for leak in found), "shown": shown, "rest": rest}


def _drawn(found: list[Layer]) -> list[dict[str, Any]]:
    """Atoms as SVG paths and patches as pictures."""
    return [
        {
            "title": layer.title,
            "tiles": [
                [(svg_paths(tile.atom), tile.caption, True)]
                + [
                    (svg_paths(each.values), each.caption, True)
                    if each.values.ndim == 1
                    else (Picture(data_uri(_stretched(each.values), 48), "nearest patch"), "", False)
                    for each in tile.beside
                ]
                for tile in layer.tiles
            ],
        }
        for layer in found
    ]


def _stretched(pixels: np.ndarray) -> np.ndarray:
    low, high = float(pixels.min()), float(pixels.max())
    return (pixels - low) / max(high - low, 1e-6)


def _curve(points: Sequence[Point]) -> dict[str, Any] | None:
    """Where the points of the learning curve lie in a drawing of 600 × 240 units, on a logarithmic x."""
    if not points:
        return None
    x = np.log(np.array([point.images_per_class for point in points], dtype=float))
    left = 62 + 508 * (x - x[0]) / max(float(x[-1] - x[0]), 1e-9)
    floor = np.floor(10 * min(point.low for point in points)) / 10

    def down(share: float) -> float:
        return 10 + 190 * (1 - share) / max(1 - floor, 0.1)

    marks = [
        {"x": at, "y": down(point.accuracy), "low": down(point.low), "high": down(point.high), "point": point}
        for at, point in zip(left.tolist(), points, strict=True)
    ]
    lines = [{"y": down(share), "share": share} for share in np.linspace(floor, 1, 3).tolist()]
    return {"marks": marks, "lines": lines}


def _settings(model: DDLCNClassifier) -> dict[str, Any]:
    """The model's parameters, with what its preset and cross-validation decided in place of None."""
    network = model.network_
    decided = {
        "descriptor": _spelt(model.descriptor_),
        "coder": " then ".join(map(_spelt, network.coders)),
        "pyramid": network.pyramid.levels,
        "min_channel": network.min_channel,
        "power": network.power,
        "deep": network.deep,
        "C": f"{model.svm_.C_:g}",
    }
    params = {**model.get_params(deep=False), **decided}
    return {name: value for name, value in params.items() if value is not None and name != "neighbors"}


def _spelt(part: Any) -> str:
    params = ", ".join(f"{name}={value!r}" for name, value in part.get_params().items())
    return f"{type(part).__name__}({params})"


def _machine() -> dict[str, str]:
    """What the times depend on besides the work."""
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("ddlcn", "numpy", "numba", "scikit-learn")},
    }


def _peak_memory() -> float | None:
    """Megabytes that this process has held at most, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
