"""The report: one HTML page about a tested model, which needs no other file."""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ddlcn.checks import DataCheck, HeldOutPredictions, ImageFacts, examine
from ddlcn.classifier import DDLCNClassifier
from ddlcn.description import describe, networks, selection_sentences, settings
from ddlcn.errors import DDLCNError
from ddlcn.evaluation import Evaluation
from ddlcn.execution.progress import track
from ddlcn.images import ImageSet
from ddlcn.report.atoms import NETWORK_NOTE, has_network, layers
from ddlcn.report.calibration import calibration
from ddlcn.report.checks import check_section
from ddlcn.report.confusions import MOST_CLASSES, class_rows, heat
from ddlcn.report.curve import Point
from ddlcn.report.examples import Examples, image_name, picture, skipped_files
from ddlcn.report.html import make_page, write_page
from ddlcn.report.leaks import facts_for, leaks_between

_ATOMS = 24  # of the first layer, at most


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
    """Write `index.html` into a folder, which is made if needed.

    Parameters
    ----------
    directory : path
    evaluation : Evaluation
        The model's predictions for `test`, in its order.
    model : DDLCNClassifier
        A fitted model.
    test : ImageSet
    train : ImageSet, optional
        The training images: duplicates of test images among them and the patches nearest to atoms are shown.
    command : str
        The command line.
    stages : mapping
        Seconds of stages before training, by name.
    learning_curve : sequence of Point
        See `learning_curve`.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DDLCNError
        If the evaluation is of other images, or the folder can't be made or has an `index.html` that is no report.
    """
    if len(evaluation.truth) != len(test):
        what = f"{len(evaluation.truth)} predictions for {len(test)} images"
        raise DDLCNError(f"{what}: give the evaluation of this ImageSet")
    page = make_page(directory)
    examples, described = Examples(model, evaluation, test), describe(model)
    facts_of, pictures = cache(partial(facts_for, model)), partial(picture, model)
    parts = {
        "classes": lambda: class_rows(evaluation),
        "heat": lambda: heat(evaluation) if len(evaluation.classes) > MOST_CLASSES else None,
        "calibration": lambda: calibration(evaluation),
        "pairs": examples.pairs,
        "mistakes": examples.mistakes,
        "gallery": examples.gallery,
        "best": examples.best,
        "leaks": lambda: None if train is None else leaks_between(facts_of(train), facts_for(model, test)),
        "checks": lambda: None if train is None else check_section(_examined(model, train, facts_of(train)), pictures),
        "layers": lambda: layers(model, None if train is None else train.images, _ATOMS),
        "curve": lambda: _curve(learning_curve) if learning_curve else None,
    }
    facts = {
        "evaluation": evaluation,
        "model": described,
        "training_seconds": sum(model.timings_.values()),
        "test": test,
        "train": train,
        "source": Path(test.source).name,
        "command": command,
        "skipped": list(dict.fromkeys(skip for part in (train, test) if part for skip in skipped_files(part))),
        "passed_over": test.passed_over,
        "stages": {**stages, **model.timings_, "testing": evaluation.seconds},
        "memory": _peak_memory(),
        "settings": settings(described),
        "selection": selection_sentences(described["selection"]),
        "networks": networks(described),
        "network_note": NETWORK_NOTE if has_network(model) else "",
        "picture_of": pictures,
        "image_name": image_name,
    }
    facts |= {name: make() for name, make in track("Report", parts.items(), total=len(parts))}
    return write_page(page, "page.html", facts)


def _examined(model: DDLCNClassifier, train: ImageSet, facts: ImageFacts) -> DataCheck:
    """Findings about training images; labels are judged by the scores of images that the training held out."""
    if model.held_out_ is None or len(train) != model.n_train_:
        return examine(train, facts)
    rows, scores = model.held_out_
    return examine(train, facts, HeldOutPredictions.of(train, rows, model.svm_.probabilities(scores), model.classes_))


def _curve(points: Sequence[Point]) -> dict[str, Any]:
    """Points of the learning curve, each with its place on a logarithmic axis from 0 to 1, and the lowest line."""
    x = np.log([point.images_per_class for point in points])
    places = (x - x[0]) / max(float(x[-1] - x[0]), 1e-9)
    floor = np.floor(10 * min(point.low for point in points)) / 10
    return {"points": list(zip(places.tolist(), points, strict=True)), "floor": float(floor)}


def _peak_memory() -> float | None:
    """Peak memory of this process in megabytes, if the system knows it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
