"""Check labelled images before training: `check`."""

import csv
import io
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import ddlcn
from ddlcn.cli import options
from ddlcn.cli.app import check_report, command, load_data, typed
from ddlcn.cli.results import show_skipped, source_facts
from ddlcn.cli.terminal import console, disarmed, printable, show_json
from ddlcn.cli.work import work_folder
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import Stopwatch, listen, progress_bars

if TYPE_CHECKING:
    from ddlcn.checks import DataCheck

_SHOWN = 10


@command("ddlcn check parts/", "ddlcn check parts/ -o issues.csv --report findings")
def check(
    data: Annotated[Path, options.DATA],
    output: Annotated[Path | None, options.FINDINGS] = None,
    report: Annotated[Path | None, options.FINDINGS_REPORT] = None,
    backbone: Annotated[str | None, options.BACKBONE] = None,
    folds: Annotated[int, options.FOLDS] = 5,
    part: Annotated[options.Part, options.PART] = options.Part.train,
    work: Annotated[str | None, options.WORK_OF_FOLDS] = None,
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    safe_csv: Annotated[bool, options.SAFE_CSV] = False,
    strict: Annotated[bool, options.STRICT] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Find likely wrong labels, duplicates, unusual and blank images, unbalanced classes. Deletes nothing."""
    start, watch, n_jobs = perf_counter(), Stopwatch(), jobs or -1
    if output and output.suffix.lower() != ".csv":
        raise DDLCNError(f"{str(output)!r}: --output is a CSV file; end its name in .csv")
    from ddlcn.checks import check_images
    from ddlcn.persistence.atomic import write_atomically
    from ddlcn.report import write_check

    check_report(report)
    # to choose an augmentation would double the time and hardly change what is suspicious
    model = ddlcn.DDLCNClassifier(backbone=backbone, augmentation="none", random_state=seed, n_jobs=n_jobs)
    with progress_bars(not quiet) as tell, listen(tell), work_folder(work) as model.work_folder:
        with watch.time("reading"):
            found = load_data(data, part, strict, n_jobs, tell)
        with watch.time("checking"):
            checked = check_images(found, model, folds)
        if output:
            write_atomically(output, _csv(checked.rows(), safe_csv).encode(errors="backslashreplace"))
        if report:
            write_check(report, checked, command=typed(), stages=watch)
    result = checked.to_dict() | {
        "folds": folds,
        "output": output and str(output),
        "report": report and str(report / "index.html"),
        "seconds": perf_counter() - start,
        **source_facts(found),
    }
    if as_json:
        return show_json(result)
    return _show(result, checked)


def _csv(rows: list[dict[str, Any]], safe: bool) -> str:
    def cell(value: Any) -> Any:
        if isinstance(value, bool):
            return str(value).lower()
        return disarmed(value) if safe and isinstance(value, str) else value

    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _show(result: dict[str, Any], checked: "DataCheck") -> None:
    show_skipped(console(stderr=True), result["skipped"])
    out, n, groups, accuracy = console(), result["n_found"], result["duplicates"], result["held_out_accuracy"]
    out.print(f"{result['n_images']:,} images of {result['n_classes']} classes", style="bold", end="")
    out.print("" if accuracy is None else f", held-out accuracy {accuracy:.1%}")
    differ, plural = sum(group["labels_differ"] for group in groups), "" if len(groups) == 1 else "s"
    lines = [
        ("likely mislabelled", "not checked" if accuracy is None else f"{n['mislabelled']:,}"),
        ("duplicates", f"{n['duplicate']:,} in {len(groups):,} group{plural}, {differ:,} with different labels"),
        ("unlike the others", "not checked" if accuracy is None else f"{n['unusual']:,}"),
        ("blank", f"{n['blank']:,}"),
        ("unbalanced classes", f"{n['unbalanced']:,}"),
        ("greyness follows class", "yes" if result["is_grey_by_class"] else "no"),
        ("skipped", f"{len(result['skipped']):,}"),
    ]
    for name, text in lines:
        out.print(f"{name:24}{text}")
    if accuracy is None:
        out.print("Labels can't be checked: at least two classes need two different images each")
    suspects, rows = checked.first("mislabelled"), checked.rows()
    if len(suspects):
        out.print(f"\nLikely mislabelled{', the first 10' if len(suspects) > _SHOWN else ''}:", style="bold")
    for row in (rows[i] for i in suspects[:_SHOWN]):
        path, label, suggested = (printable(row[key]) for key in ("path", "label", "suggested_label"))
        out.print(f"{row['mislabelled_score']:.2f}  {path}: label {label}, rather {suggested}")
    out.print()
    for written in filter(None, (result["output"], result["report"])):
        out.print(f"Wrote {printable(written)}")
    if not (result["output"] or result["report"]):
        out.print("For all findings: -o issues.csv, or --report DIR for pictures", style="dim")
