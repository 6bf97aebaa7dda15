"""What `demo`, `train`, `extend` and `evaluate` found: one JSON object, or text for the terminal."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

import ddlcn
from ddlcn.cli.terminal import console, printable, show_json
from ddlcn.description import describe, selection_sentences

if TYPE_CHECKING:
    from ddlcn.evaluation import Evaluation

_CLASSES_SHOWN = 20
_SKIPPED_SHOWN = 3


def summary(
    model: "ddlcn.DDLCNClassifier",
    found: "ddlcn.ImageSet",
    tested: "Evaluation | None",
    seconds: float,
    timings: dict[str, float],
    output: Path | None = None,
    report: Path | None = None,
) -> dict[str, Any]:
    """Return all results in JSON's types; accuracy is None if nothing was tested."""
    result: dict[str, Any] = {
        "accuracy": None,
        "interval": None,
        "n_test": 0,
        **describe(model),
        "seconds": seconds,
        "timings": dict(timings),
        "per_class": [],
        "most_confused": [],
        "calibration": None,
        "model": output and str(output),
        "report": report and str(report / "index.html"),
        "source": found.source,
        "skipped": [{"path": path, "reason": reason} for path, reason in found.skipped],
        "passed_over": found.passed_over,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("ddlcn", "numpy", "numba", "scikit-learn")},
    }
    if tested:
        from ddlcn.reliability import reliability

        counts = tested.confusion.sum(axis=1).tolist()
        rows = zip(result["classes"], tested.recall.tolist(), counts, strict=True)
        result |= {
            "accuracy": tested.accuracy,
            "interval": tested.interval,
            "n_test": len(tested.truth),
            "per_class": [{"label": label, "recall": r, "n_test": n} for label, r, n in rows if n],
            "most_confused": [pair._asdict() for pair in tested.most_confused()],
            "calibration": reliability(tested.probabilities, tested.truth),
        }
        result["timings"]["testing"] = tested.seconds
    return result


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print a summary."""
    if as_json:
        return show_json(result)
    _show_skipped(console(stderr=True), result["skipped"])
    out = console()
    if result["accuracy"] is None:
        out.print(f"Trained on {trained_on(result)} of {len(result['classes'])} classes", style="bold")
        out.print("To measure the accuracy, hold images out with --train-per-class, or use ddlcn evaluate")
    else:
        low, high = result["interval"]
        out.print(f"Accuracy {result['accuracy']:.2%}", style="bold green", end="")
        out.print(f"  95% interval {low:.2%} to {high:.2%}")
        out.print(f"trained on {trained_on(result)}, tested on {result['n_test']:,}\n", style="dim")
        _show_classes(out, result["per_class"])
        for pair in result["most_confused"]:
            truth, predicted = printable(pair["truth"]), printable(pair["predicted"])
            out.print(f"{truth} classified as {predicted}, {pair['times']} ×")
        out.print("" if result["most_confused"] else "No mistakes\n")
    for sentence in selection_sentences(result["selection"]):
        out.print(printable(sentence), style="dim")
    timings = result["timings"] | {"all": result["seconds"]}
    out.print(" · ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.items()), style="dim")
    for written in filter(None, (result["model"], result["report"])):
        out.print(f"Wrote {printable(written)}")
    return None


def trained_on(facts: dict[str, Any]) -> str:
    """Return the number of training images and their augmentation, as text."""
    augmentation = "" if facts["augmentation"] == "none" else f" (augmentation: {facts['augmentation']})"
    return f"{facts['n_train']:,} images{augmentation}"


def _show_classes(out: Console, per_class: list[dict[str, Any]]) -> None:
    """A line per class; of very many classes, the worst."""
    if len(per_class) > _CLASSES_SHOWN:
        per_class = sorted(per_class, key=lambda row: row["recall"])[:_CLASSES_SHOWN]
        out.print(f"The {_CLASSES_SHOWN} classes with the lowest recall (--json lists all)", style="dim")
    table = Table("class", "", "recall", "images", box=None, pad_edge=False, header_style="dim")
    table.columns[2].justify = table.columns[3].justify = "right"
    for row in per_class:
        bar = ProgressBar(1, row["recall"], width=24, complete_style="green", finished_style="green")
        table.add_row(printable(row["label"]), bar, f"{row['recall']:.1%}", str(row["n_test"]))
    out.print(table)
    out.print()


def _show_skipped(out: Console, skipped: list[dict[str, str]]) -> None:
    if skipped:
        out.print(f"Skipped {len(skipped)} broken image(s):", style="yellow")
    for image in skipped[:_SKIPPED_SHOWN]:
        out.print(f"  {printable(image['path'])} {printable(image['reason'])}")
    if len(skipped) > _SKIPPED_SHOWN:
        out.print(f"  and {len(skipped) - _SKIPPED_SHOWN} more (--json lists all)")
