"""Train, extend and test: `demo`, `train`, `extend`, `evaluate`."""

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import ddlcn
from ddlcn.cli import options
from ddlcn.cli.app import check_report, command, load_data, load_model, typed
from ddlcn.cli.channels import build_model
from ddlcn.cli.rejection import default_false_alarms
from ddlcn.cli.results import show, summary
from ddlcn.cli.terminal import console, printable
from ddlcn.cli.work import work_folder
from ddlcn.description import FALSE_ALARMS
from ddlcn.errors import DDLCNError, listed
from ddlcn.execution.progress import Listener, Stopwatch, listen, progress_bars

if TYPE_CHECKING:
    from ddlcn.evaluation import Evaluation


@command("ddlcn demo", "ddlcn demo -o digits.ddlcn --report digits-report")
def demo(
    output: Annotated[Path | None, options.OUTPUT] = None,
    report: Annotated[Path | None, options.REPORT] = Path("ddlcn-report"),
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Train on half of scikit-learn's 1,797 handwritten digits, and test on the other half."""
    start = perf_counter()
    check_report(report)
    from sklearn.datasets import load_digits

    digits = load_digits()
    found = ddlcn.ImageSet.of(digits.images, digits.target, "scikit-learn's digits")
    train, test = found.split(0.5, seed)
    model, watch = ddlcn.DDLCNClassifier(random_state=seed, n_jobs=jobs or -1), Stopwatch()
    with progress_bars(not quiet) as tell, listen(tell):
        watch |= model.fit(train.images, train.labels).timings_
        tested = _test(model, test, report, tell, watch, train)
        if output:
            _save_tested(model, tested, output)
    show(summary(model, found, tested, perf_counter() - start, watch, output, report), as_json)


@command(
    "ddlcn train parts/ -o parts.ddlcn",
    "ddlcn train parts/ -o parts.ddlcn --train-per-class 20 --report parts-report",
)
def train(
    data: Annotated[Path, options.DATA],
    output: Annotated[Path, options.OUTPUT],
    train_per_class: Annotated[Any, options.TRAIN_PER_CLASS] = None,
    report: Annotated[Path | None, options.REPORT] = None,
    learning_curve: Annotated[bool, options.LEARNING_CURVE] = False,
    part: Annotated[options.Part, options.PART] = options.Part.train,
    preset: Annotated[options.Preset, options.PRESET] = options.Preset.best,
    channels: Annotated[Any, options.CHANNELS] = None,
    backbone: Annotated[str | None, options.BACKBONE] = None,
    images_per_class: Annotated[Any, options.IMAGES_PER_CLASS] = "auto",
    atoms_per_class: Annotated[Any, options.ATOMS_PER_CLASS] = "auto",
    layers: Annotated[Any, options.LAYERS] = None,
    deeper_atoms: Annotated[Any, options.DEEPER_ATOMS] = "64",
    neighbors: Annotated[Any, options.NEIGHBORS] = None,
    coder: Annotated[options.Coder | None, options.CODER] = None,
    beta: Annotated[float | None, options.BETA] = None,
    deskew: Annotated[options.Deskew, options.DESKEW] = options.Deskew.auto,
    augmentation: Annotated[options.Augmentation, options.AUGMENTATION] = options.Augmentation.auto,
    C: Annotated[Any, options.C] = "auto",
    class_weight: Annotated[options.ClassWeight, options.CLASS_WEIGHT] = options.ClassWeight.none,
    work: Annotated[str | None, options.WORK] = None,
    scheduler: Annotated[str | None, options.SCHEDULER] = None,
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    strict: Annotated[bool, options.STRICT] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Train on labelled images and write one model file. If interrupted, run the same command again to resume."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    if report and not train_per_class:
        raise DDLCNError("--report is about a test; hold images out for it with --train-per-class")
    if learning_curve and not report:
        raise DDLCNError("--learning-curve is part of the report; name its folder with --report DIR")
    check_report(report)
    model = build_model(
        preset,
        channels,
        backbone,
        seed,
        n_jobs,
        deskew=deskew,
        augmentation=augmentation,
        C=C,
        class_weight=class_weight,
        coder=coder,
        neighbors=neighbors,
        beta=beta,
        images_per_class=images_per_class,
        atoms_per_class=atoms_per_class,
        deeper_atoms=deeper_atoms if layers is None else layers,
    )
    with (
        progress_bars(not quiet) as tell,
        listen(tell),
        work_folder(work or f"{output}.work", keep=work is not None) as model.work_folder,
    ):
        found = _load(data, part, strict, n_jobs, watch, tell, min_per_class=2 if train_per_class else 1)
        images, held_out = found.split(train_per_class, seed) if train_per_class else (found, None)
        with _cluster(scheduler):
            watch |= model.fit(images.images, images.labels).timings_
        model.save(output)
        tested = None
        if held_out is not None:
            tested = _test(model, held_out, report, tell, watch, images, learning_curve)
            _save_tested(model, tested, output)
    _show_single(found)
    show(summary(model, found, tested, perf_counter() - start, watch, output, report), as_json)


@command("ddlcn extend parts.ddlcn new-parts/ -o parts2.ddlcn --work parts.work")
def extend(
    model: Annotated[Path, options.MODEL],
    data: Annotated[Path, options.DATA],
    output: Annotated[Path, options.OUTPUT],
    work: Annotated[str, options.WORK_OF_TRAINING],
    part: Annotated[options.Part, options.PART] = options.Part.train,
    scheduler: Annotated[str | None, options.SCHEDULER] = None,
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    strict: Annotated[bool, options.STRICT] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Add images of known or new classes to a model. Dictionaries and selected settings stay, so this is quick."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    extended = load_model(model, n_jobs, quiet)
    with progress_bars(not quiet) as tell, listen(tell), work_folder(work) as extended.work_folder:
        found = _load(data, part, strict, n_jobs, watch, tell, min_classes=1)
        with _cluster(scheduler):
            extended.extend(found.images, found.labels)
        watch |= extended.timings_
        extended.save(output)
    show(summary(extended, found, None, perf_counter() - start, watch, output), as_json)


@command("ddlcn evaluate parts.ddlcn checked-by-hand.csv --report parts-report")
def evaluate(
    model: Annotated[Path, options.MODEL],
    data: Annotated[Path, options.DATA],
    report: Annotated[Path | None, options.REPORT] = None,
    train_data: Annotated[Path | None, options.TRAIN_DATA] = None,
    part: Annotated[options.Part, options.PART] = options.Part.test,
    unknown_label: Annotated[str, options.UNKNOWN_TESTED] = "unknown",
    false_alarms: Annotated[Any, options.FALSE_ALARMS] = None,
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    strict: Annotated[bool, options.STRICT] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Test a model on labelled images."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    if train_data and not report:
        raise DDLCNError("--train-data is used by the report; name its folder with --report DIR")
    check_report(report)
    classifier = load_model(model, n_jobs, quiet)
    with progress_bars(not quiet) as tell, listen(tell):
        load = partial(_load, strict=strict, n_jobs=n_jobs, watch=watch, tell=tell, min_classes=1)
        found, known = load(data, part), load(train_data, options.Part.train) if train_data else None
        found, unknown = _without_unknown(classifier, found, unknown_label)
        share = false_alarms or (default_false_alarms(classifier) if len(unknown) else FALSE_ALARMS)
        tested = _test(classifier, found, report, tell, watch, known, unknown=unknown, false_alarms=share)
    show(summary(classifier, found, tested, perf_counter() - start, watch, report=report), as_json)


def _show_single(found: "ddlcn.ImageSet") -> None:
    """Name the classes of one image."""
    single = [repr(str(label)) for label, n in sorted(Counter(found.labels.tolist()).items()) if n == 1]
    if single:
        note = f"Only one image of {listed(single, 5)}: it trains, but none is left to test the class; add images"
        console(stderr=True).print(printable(note), style="yellow")


def _cluster(scheduler: str | None) -> AbstractContextManager[object]:
    """The Dask cluster that trains, if there is one."""
    from ddlcn.execution.dask import connect

    return connect(scheduler) if scheduler else nullcontext()


def _load(
    data: Path, part: options.Part, strict: bool, n_jobs: int, watch: Stopwatch, tell: Listener, **least: int
) -> "ddlcn.ImageSet":
    with watch.time("reading"):
        return load_data(data, part, strict, n_jobs, tell, **least)


def _without_unknown(
    model: "ddlcn.DDLCNClassifier", found: "ddlcn.ImageSet", label: str
) -> tuple["ddlcn.ImageSet", "ddlcn.ImageSet"]:
    """Images with labels of classes, and images with the label of unknown ones, unless a class has this name."""
    unknown = (found.labels.astype(str) == label) & (label not in map(str, model.classes_))
    if unknown.all():
        raise DDLCNError(f"all images have the label {label!r}: add images of the model's classes")
    return found.take((~unknown).nonzero()[0]), found.take(unknown.nonzero()[0])


def _test(
    model: "ddlcn.DDLCNClassifier",
    images: "ddlcn.ImageSet",
    report: Path | None,
    tell: Listener,
    watch: Stopwatch,
    train: "ddlcn.ImageSet | None" = None,
    curve: bool = False,
    unknown: "ddlcn.ImageSet | None" = None,
    false_alarms: float = 0.05,
) -> "Evaluation":
    from ddlcn.evaluation import evaluate

    with watch.time("testing"), listen(lambda _, done, total: tell("Testing", done, total)):
        others = () if unknown is None else unknown.images
        tested = evaluate(model, images.images, images.labels, others, false_alarms)
    if report:
        with watch.time("report"):
            from ddlcn.report import learning_curve, write_report

            points = learning_curve(model, train, images) if curve and train else []
            stages = dict(watch)
            write_report(
                report, tested, model, images, train=train, command=typed(), stages=stages, learning_curve=points
            )
    return tested


def _save_tested(model: "ddlcn.DDLCNClassifier", tested: "Evaluation", output: Path) -> None:
    """Save a model with the result of its test, for `ddlcn info`."""
    model.training_record_["test"] = {"accuracy": tested.accuracy, "n_images": len(tested.truth)}
    model.save(output)
