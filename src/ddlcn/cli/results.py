"""What `demo`, `train`, `extend` and `evaluate` found: one JSON object, or text for the terminal."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

import ddlcn
from ddlcn.cli.terminal import console, printable, show_json, wrapped
from ddlcn.description import describe, selection_sentences
from ddlcn.errors import grouped

if TYPE_CHECKING:
    from ddlcn.evaluation import Evaluation

_CLASSES_SHOWN = 20
_SKIPPED_SHOWN = 6
_PAIRS_SHOWN = 5


def summary(
    model: "ddlcn.DDLCNClassifier",
    found: "ddlcn.ImageSet",
    tested: "Evaluation | None",
    seconds: float,
    timings: Mapping[str, float],
    output: Path | None = None,
    report: Path | None = None,
) -> dict[str, Any]:
    """Return all results in JSON's types; accuracy is None if nothing was tested. Timings add up to `seconds`."""
    result: dict[str, Any] = {
        "accuracy": None,
        "interval": None,
        "n_test": 0,
        **describe(model),
        "seconds": seconds,
        "timings": {**timings, "other": max(0.0, seconds - sum(timings.values()))},
        "per_class": [],
        "most_confused": [],
        "calibration": None,
        "rejection": tested.rejection._asdict() if tested and tested.rejection else None,
        "model": output and str(output),
        "report": report and str(report / "index.html"),
        **source_facts(found),
    }
    return result | (tested_facts(tested) if tested else {})


def source_facts(found: "ddlcn.ImageSet") -> dict[str, Any]:
    """Return where images came from, which were skipped, and versions."""
    return {
        "source": found.source,
        "skipped": [{"path": path, "reason": reason} for path, reason in found.skipped],
        "passed_over": found.passed_over,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("ddlcn", "numpy", "numba", "scikit-learn")},
    }


def tested_facts(tested: "Evaluation") -> dict[str, Any]:
    """Return the results of a test; `most_confused` has all pairs of classes that were confused."""
    from ddlcn.reliability import reliability

    counts = tested.confusion.sum(axis=1).tolist()
    rows = zip(tested.classes.tolist(), tested.recall.tolist(), counts, strict=True)
    return {
        "accuracy": tested.accuracy,
        "interval": tested.interval,
        "n_test": len(tested.truth),
        "per_class": [{"label": label, "recall": r, "n_test": n} for label, r, n in rows if n],
        "most_confused": [pair._asdict() for pair in tested.most_confused(n=len(counts) ** 2)],
        "calibration": reliability(tested.probabilities, tested.truth),
    }


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print a summary."""
    if as_json:
        return show_json(result)
    show_skipped(console(stderr=True), result["skipped"])
    out = console()
    if result["accuracy"] is None:
        out.print(f"Trained on {trained_on(result)} of {len(result['classes'])} classes", style="bold")
        out.print("To measure the accuracy, hold images out with ddlcn train --train-per-class, or use ddlcn evaluate")
    else:
        show_test(out, result, f"trained on {trained_on(result)}, tested on {result['n_test']:,}")
    if result["rejection"]:
        _show_rejection(out, result["rejection"])
    for sentence in selection_sentences(result["selection"]):
        out.print(wrapped(out, printable(sentence)), style="dim")
    timings = {stage: s for stage, s in result["timings"].items() if s >= 0.05} | {"total": result["seconds"]}
    times = (f"{stage} {seconds:.1f} s".replace(" ", "\N{NO-BREAK SPACE}") for stage, seconds in timings.items())
    out.print(wrapped(out, " · ".join(times)), style="dim")
    for written in filter(None, (result["model"], result["report"])):
        out.print(f"Wrote {printable(written)}")
    return None


def show_test(out: Console, result: dict[str, Any], how: str) -> None:
    """Print accuracy, classes and confusions."""
    low, high = result["interval"]
    out.print(f"Accuracy {result['accuracy']:.2%}", style="bold green", end="")
    out.print(f"  95% interval {low:.2%} to {high:.2%}")
    out.print("\n".join(wrapped(out, line) for line in how.split("\n")), style="dim", end="\n\n")
    _show_classes(out, result["per_class"])
    confused = result["most_confused"]
    for pair in confused[:_PAIRS_SHOWN]:
        truth, predicted = printable(pair["truth"]), printable(pair["predicted"])
        out.print(f"{truth} classified as {predicted}, {pair['times']} ×")
    if len(confused) > _PAIRS_SHOWN:
        out.print(f"and {len(confused) - _PAIRS_SHOWN:,} more pairs of classes (--json lists all)", style="dim")
    out.print("" if confused else "No mistakes\n")


def _show_rejection(out: Console, found: dict[str, Any]) -> None:
    """Print how many unknown and known images were rejected."""

    def rejected(kind: str) -> str:
        n, total = found[f"n_{kind}_rejected"], found[f"n_{kind}"]
        return f"{n:,} of {total:,} {kind} images rejected, {n / total:.1%}"

    out.print(rejected("unknown"))
    out.print(f"{rejected('known')} (about {found['false_alarms']:.1%} expected)\n")


def trained_on(facts: dict[str, Any]) -> str:
    """Return the number of training images and their augmentation, as text."""
    augmentation = "" if facts["augmentation"] == "none" else f" (augmentation: {facts['augmentation']})"
    return f"{facts['n_train']:,} images{augmentation}"


def _show_classes(out: Console, per_class: list[dict[str, Any]]) -> None:
    """A line per class; of very many classes, the worst."""
    more = len(per_class) - _CLASSES_SHOWN
    if more > 0:
        per_class = sorted(per_class, key=lambda row: row["recall"])[:_CLASSES_SHOWN]
        out.print(
            f"The {_CLASSES_SHOWN} classes with the lowest recall, and {more:,} more (--json lists all)", style="dim"
        )
    table = Table("class", "", "recall", "images", box=None, pad_edge=False, header_style="dim")
    table.columns[2].justify = table.columns[3].justify = "right"
    for row in per_class:
        bar = ProgressBar(1, row["recall"], width=24, complete_style="green", finished_style="green")
        table.add_row(printable(row["label"]), bar, f"{row['recall']:.1%}", str(row["n_test"]))
    out.print(table)
    out.print()


def show_skipped(out: Console, skipped: list[dict[str, str]]) -> None:
    """Print which images were skipped, and why."""
    if skipped:
        what = "file or folder" if len(skipped) == 1 else "files or folders"
        out.print(f"Skipped {len(skipped):,} {what}:", style="yellow")
    lines = grouped((printable(image["path"]), printable(image["reason"])) for image in skipped)
    for line in lines[:_SKIPPED_SHOWN]:
        out.print(wrapped(out, f"  {line}", "    "))
    if len(lines) > _SKIPPED_SHOWN:
        out.print(f"  and {(more := len(lines) - _SKIPPED_SHOWN):,} more reason{'s' * (more > 1)}")
    if len(skipped) > min(len(lines), _SKIPPED_SHOWN):
        out.print("  (--json lists all)")
