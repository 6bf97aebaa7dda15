"""Learn and test: `demo`, `train`, `evaluate`."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ddlcn.cli import options
from ddlcn.cli.app import app, load_model
from ddlcn.cli.interrupts import START_OVER, interruptible
from ddlcn.cli.results import show, summary
from ddlcn.cli.terminal import progress
from ddlcn.errors import DDLCNError
from ddlcn.progress import Listener, Stopwatch, listen

if TYPE_CHECKING:
    from ddlcn import DDLCNClassifier, ImageSet
    from ddlcn.evaluation import Evaluation


@app.command()
def demo(
    output: options.MaybeOutput = None,
    report: options.Report = Path("ddlcn-report"),
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Learn handwritten digits from half of scikit-learn's 1,797, and test on the others."""
    start = perf_counter()
    from sklearn.datasets import load_digits

    from ddlcn import DDLCNClassifier, ImageSet

    digits = load_digits()
    found = ImageSet.of(digits.images, digits.target, "scikit-learn's digits")
    model = DDLCNClassifier(random_state=seed, n_jobs=jobs or -1)
    with progress() as tell:
        tested = _learn(model, *found.split(0.5, seed), output, report, tell, Stopwatch())
    show(summary(model, found, tested, perf_counter() - start, model.timings_, output, report), as_json)


@app.command()
def train(
    data: options.Data,
    output: options.Output,
    train_per_class: options.TrainPerClass = None,
    report: options.Report = None,
    learning_curve: options.LearningCurve = False,
    part: options.ThePart = options.Part.train,
    preset: options.ThePreset = options.Preset.best,
    images_per_class: options.ImagesPerClass = "15",
    atoms_per_class: options.AtomsPerClass = "15",
    layers: options.Layers = None,
    deeper_atoms: options.DeeperAtoms = "64",
    neighbors: options.Neighbors = None,
    coder: options.TheCoder = None,
    beta: options.Beta = None,
    deep: options.Deep = None,
    upright: options.Upright = None,
    copies: options.TheCopies = None,
    C: options.C = None,
    work: options.Work = None,
    scheduler: options.Scheduler = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Train on labelled images and write the model to one file. If interrupted, the same command goes on."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    from ddlcn import DDLCNClassifier

    if report and not train_per_class:
        raise DDLCNError("--report is about a test; hold images out for one with --train-per-class")
    if learning_curve and not report:
        raise DDLCNError("--learning-curve is drawn in a report; say where with --report DIR")
    model = DDLCNClassifier(
        images_per_class=images_per_class,
        atoms_per_class=atoms_per_class,
        deeper_atoms=deeper_atoms if layers is None else layers,
        neighbors=neighbors,
        preset=preset.value,
        coder=coder and coder.value,
        beta=beta,
        deep=deep,
        upright=upright,
        copies=copies and copies.value,
        C=C,
        random_state=seed,
        n_jobs=n_jobs,
    )
    with progress() as tell, _kept_work(output, work, scheduler) as model.store:
        found = _read(data, part, strict, n_jobs, watch, tell, min_per_class=2)
        images, held_out = found.split(train_per_class, seed) if train_per_class else (found, None)
        tested = _learn(model, images, held_out, output, report, tell, watch, learning_curve)
    timings = watch | model.timings_
    show(summary(model, found, tested, perf_counter() - start, timings, output, report), as_json)


@app.command()
def grow(
    model: options.Model,
    data: options.Data,
    output: options.Output,
    work: options.WorkOf,
    part: options.ThePart = options.Part.train,
    scheduler: options.Scheduler = None,
    jobs: options.Jobs = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Add images, of known or new classes, to a model; its dictionaries stay, so only they are coded."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    grown = load_model(model, n_jobs)
    with progress() as tell, _kept_work(output, work, scheduler) as grown.store:
        found = _read(data, part, strict, n_jobs, watch, tell, min_classes=1)
        with listen(tell):
            grown.grow(found.images, found.labels)
        grown.save(output)
    timings = watch | grown.timings_
    show(summary(grown, found, None, perf_counter() - start, timings, output), as_json)


@app.command()
def evaluate(
    model: options.Model,
    data: options.Data,
    report: options.Report = None,
    train_data: options.TrainData = None,
    part: options.ThePart = options.Part.test,
    jobs: options.Jobs = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Test a model on labelled images."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    if train_data and not report:
        raise DDLCNError("--train-data is looked at for a report; say where with --report DIR")
    judge = load_model(model, n_jobs)
    with progress() as tell:
        read = partial(_read, strict=strict, n_jobs=n_jobs, watch=watch, tell=tell, min_classes=1)
        found, seen = read(data, part), read(train_data, options.Part.train) if train_data else None
        tested = _test(judge, found, report, tell, watch, seen)
    show(summary(judge, found, tested, perf_counter() - start, watch, report=report), as_json)


@contextmanager
def _kept_work(output: Path, work: str | None, scheduler: str | None) -> Iterator[str]:
    """Where finished work lies: beside the model until that is written, or where the user says, and stays."""
    from ddlcn.cluster import connect
    from ddlcn.store import Store

    where, done = work or f"{output}.work", False
    store = Store(where)

    def kept() -> str:
        return (
            f"finished work is kept in {where!r}, the same command goes on" if store.names() else START_OVER
        )

    with store.in_use(), connect(scheduler) if scheduler else nullcontext():
        try:
            with interruptible(kept):
                yield store.path
            done = True
        finally:
            if work is None and (done or not store.names()):
                store.remove()


def _read(
    data: Path, part: options.Part, strict: bool, n_jobs: int, watch: Stopwatch, tell: Listener, **least: int
) -> "ImageSet":
    from ddlcn import load_images

    told = partial(tell, "Reading")
    with watch.time("reading"):
        return load_images(data, part=part.value, strict=strict, n_jobs=n_jobs, progress=told, **least)  # type: ignore[arg-type]


def _learn(
    model: "DDLCNClassifier",
    images: "ImageSet",
    held_out: "ImageSet | None",
    output: Path | None,
    report: Path | None,
    tell: Listener,
    watch: Stopwatch,
    curve: bool = False,
) -> "Evaluation | None":
    with listen(tell):
        model.fit(images.images, images.labels)
    if output:
        model.save(output)
    return None if held_out is None else _test(model, held_out, report, tell, watch, images, curve)


def _test(
    model: "DDLCNClassifier",
    images: "ImageSet",
    report: Path | None,
    tell: Listener,
    watch: Stopwatch,
    train: "ImageSet | None" = None,
    curve: bool = False,
) -> "Evaluation":
    from ddlcn.evaluation import evaluate

    with listen(lambda _, done, total: tell("Testing", done, total)):
        tested = evaluate(model, images.images, images.labels)
    if report:
        from ddlcn.report import learning_curve, write_report

        command = shlex.join(["ddlcn", *sys.argv[1:]])
        with listen(tell):
            points = learning_curve(model, train, images) if curve and train else []
            write_report(
                report,
                tested,
                model,
                images,
                train=train,
                command=command,
                stages=watch,
                learning_curve=points,
            )
    return tested
