"""The paper's tables with our results beside the published ones, and tables that the paper does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ddlcn_lab.datasets import get_source
from ddlcn_lab.grid import CURVES, label
from ddlcn_lab.methods.registry import FROZEN
from ddlcn_lab.paper import base_name, entries
from ddlcn_lab.protocols import PerClass
from ddlcn_lab.published import TABLES, Figure, read_table
from ddlcn_lab.results import Key, Mean, Results

NOT_RUN = "not run"
NO_METHOD = "not here"  # docs/methods.md says what is missing
_FACES = ("yaleb", "yaleb-excluded", "ar", "digits")  # names of people say nothing
MIN_SPLITS = 3  # for an interval: by Student's t, that of two splits is wider than any use


@dataclass(frozen=True)
class Table:
    """Text in rows and columns, with a title and a note."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def all_tables(results: Results) -> list[Table]:
    """Make every table that has rows.

    Parameters
    ----------
    results : Results

    Returns
    -------
    list of Table
    """
    left = not_run(results)
    paper = [table for name in TABLES for table in _paper_tables(results, name, left)]
    rest = (*_other_tables(results, left), *_curves(results), _leak(results), _confusions(results))
    return [table for table in (*paper, *rest) if table.rows]


def not_run(results: Results) -> dict[tuple[str, PerClass], list[str]]:
    """Return, for a file of `ddlcn bench paper`, the methods without rows by data set and t."""
    left: dict[tuple[str, PerClass], list[str]] = {}
    for key in planned_keys() if results.sources else ():
        if key not in results.rows:
            why = f" (failed: {results.errors[key]})" if key in results.errors else ""
            left.setdefault((key.dataset, key.t), []).append(f"{key.method} {key.setting}".strip() + why)
    return left


def planned_keys() -> list[Key]:
    """Return the keys of the tables of `ddlcn bench paper`, without curves and the leak."""
    tasks = (entry.task for entry in entries() if entry.table not in ("curves", "leak"))
    return list(dict.fromkeys(Key(task.dataset, *task.job[:4], task.job.leak) for task in tasks))


def _paper_tables(results: Results, name: str, left: dict[tuple[str, PerClass], list[str]]) -> list[Table]:
    """A table of the paper, one for each of its columns that has been run at all."""
    figures = read_table(name)
    columns = dict.fromkeys((figure.dataset, figure.t) for figure in figures)
    run = {(key.dataset, key.t) for key in results.rows if not (key.leak or _of_curves(key))}
    return [
        Table(
            f"{TABLES[name]}, {dataset}, {train(t)}",
            _note(dataset, left.get((dataset, t), [])),
            (*_HEADER, "published", "difference", "ms, published"),
            _paper_rows(results, [figure for figure in figures if (figure.dataset, figure.t) == (dataset, t)]),
        )
        for dataset, t in columns
        if (dataset, t) in run
    ]


def _paper_rows(results: Results, figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """A row per figure, then rows of methods that the table does not have."""
    column = figures[0].dataset, figures[0].t
    others = [key for key in _keys(results, *column) if not any(matches(key, figure) for figure in figures)]
    rows = [_paper_row(results, figure) for figure in figures]
    return rows + [(*_measured(results, key, _name(key)), "–", "", "–") for key in others]


def _paper_row(results: Results, figure: Figure) -> tuple[str, ...]:
    key = next((key for key in results.rows if matches(key, figure)), None)
    published_ms = "–" if figure.ms is None else f"{figure.ms:g}"
    if key is None:
        what = NOT_RUN if figure.ours else NO_METHOD
        return figure.method, what, *[""] * (len(_HEADER) - 2), str(figure), "", published_ms
    ours = f" (ours {key.setting})" if key.setting and not (figure.p or figure.q) else ""
    difference = "" if figure.accuracy is None else f"{results.mean(key).mean - figure.accuracy:+.2f}"
    return *_measured(results, key, figure.method + ours), str(figure), difference, published_ms


def _other_tables(results: Results, left: dict[tuple[str, PerClass], list[str]]) -> list[Table]:
    """What was run on data sets or numbers of images that are in no table of the paper."""
    published = {(figure.dataset, figure.t) for name in TABLES for figure in read_table(name)}
    columns = dict.fromkeys((key.dataset, key.t) for key in results.rows if not key.leak)
    return [
        Table(
            f"Not in the paper: {dataset}, {train(t)}",
            _note(dataset, left.get((dataset, t), [])).removeprefix("not in the paper").removeprefix("; "),
            (*_HEADER, "balanced"),
            [
                (*_measured(results, key, _name(key)), f"{results.balanced(key):.2f}")
                for key in _keys(results, dataset, t)
            ],
        )
        for dataset, t in columns
        if (dataset, t) not in published
    ]


_HEADER = ("method", "ours", "95 % interval", "difference to best", "splits", "fit s", "ms")


def _measured(results: Results, key: Key, name: str) -> tuple[str, ...]:
    """The cells of `_HEADER`."""
    mean, best = results.mean(key), _best(results, key)
    gain = results.gain(key, best) if best and best != key else None
    versus = "" if gain is None else f"{gain.mean:+.2f} {_half(gain, key)}".strip()
    times = f"{results.fit_seconds(key):.1f}", f"{results.ms(key):.2f}"
    return name, _accuracy(mean), _interval(mean, key), versus, str(mean.n), *times


def _best(results: Results, key: Key) -> Key | None:
    """Preset best on the same images, with the same p and q or those that it chooses."""
    same = key._replace(method="ddlcn-best", leak=False)
    return next((each for each in (same, same._replace(p=None, q=0)) if each in results.rows), None)


def _keys(results: Results, dataset: str, t: PerClass) -> list[Key]:
    """What was run on some images, without the leak and points of curves: ours first, then by accuracy."""
    found = [key for key in results.rows if (key.dataset, key.t) == (dataset, t) and not (key.leak or _of_curves(key))]
    return sorted(found, key=lambda key: (not key.method.startswith("ddlcn"), -results.mean(key).mean))


def _of_curves(key: Key) -> bool:
    """Whether a key is a point of a curve only."""
    if key.method != "ddlcn" or key.leak or key.dataset not in CURVES["curves"] or not isinstance(key.t, int):
        return False
    return not any(matches(key, figure) for name in TABLES for figure in read_table(name))


def _curves(results: Results) -> list[Table]:
    """Accuracy by p-q and t."""
    tables = []
    for dataset in dict.fromkeys(key.dataset for key in results.rows if _of_curves(key)):
        keys = [
            key
            for key in results.rows
            if key.dataset == dataset and key.method == "ddlcn" and not key.leak and isinstance(key.t, int)
        ]
        counts = sorted({key.t for key in keys}, key=lambda t: t or 0)
        settings = sorted({(key.p or 0, key.q) for key in keys})
        cells = {((key.p or 0, key.q), key.t): _point(results.mean(key)) for key in keys}
        rows = [(label(p or None, q), *(cells.get(((p, q), t), "") for t in counts)) for p, q in settings]
        note = f"ddlcn (preset paper); mean ± half of the 95 % interval from {MIN_SPLITS} splits on. " + (
            get_source(dataset).note or ""
        )
        header = ("p-q", *(f"t = {t}" for t in counts))
        tables.append(Table(f"Curves: {dataset}, accuracy by p, q and t", note.strip(), header, rows))
    return tables


def _point(mean: Mean) -> str:
    return f"{mean.mean:.2f} ± {mean.half:.2f}" if _has_interval(mean) else f"{mean.mean:.2f}"


def _note(dataset: str, left: Sequence[str]) -> str:
    missing = f"{NOT_RUN.capitalize()}: {', '.join(left)}" if left else ""
    return "; ".join(filter(None, (get_source(dataset).note, missing)))


def _has_interval(mean: Mean) -> bool:
    """Whether there are enough splits, and any difference between them, for an interval."""
    return mean.n >= MIN_SPLITS and mean.std is not None and mean.std > 1e-9


def _accuracy(mean: Mean) -> str:
    """The mean, with the standard deviation of enough splits."""
    return str(mean) if mean.n >= MIN_SPLITS else f"{mean.mean:.2f}"


def _interval(mean: Mean, key: Key) -> str:
    """The interval over splits; over the test images, if a data set has one split, its own."""
    return mean.interval if _has_interval(mean) or (key.t is None and mean.n == 1) else ""


def _half(gain: Mean, key: Key) -> str:
    return f"± {gain.half:.2f}" if _has_interval(gain) or (key.t is None and gain.n == 1) else ""


def _name(key: Key) -> str:
    setting = f"{key.method} {key.setting}".strip()
    return f"{setting} (frozen network, not the paper's)" if base_name(key.method) in FROZEN else setting


def matches(key: Key, figure: Figure) -> bool:
    """Return whether a key is what a published figure measures, run without the leak."""
    return (key.dataset, key.t, key.method, key.leak) == (figure.dataset, figure.t, figure.ours, False) and (
        figure.p in ("", "A" if key.p is None else str(key.p)) and figure.q in ("", str(key.q))
    )


def _leak(results: Results) -> Table:
    rows = []
    for key in results.rows:
        without = key._replace(leak=False)
        gain = results.gain(key, without) if key.leak else None
        if gain:
            place = (key.dataset, key.method, key.setting, train(key.t))
            accuracies = (_accuracy(results.mean(without)), _accuracy(results.mean(key)))
            rows.append((*place, *accuracies, f"{gain.mean:+.2f}", _half(gain, key)))
    return Table(
        "How much the leak inflates accuracy",
        "Leaked: dictionary images are drawn before the split, test images included, as in the authors' code.",
        ("data set", "method", "p-q", "training", "without", "leaked", "inflated by", "95 %"),
        rows,
    )


def _confusions(results: Results) -> Table:
    """The pairs most often confused and the classes with the best recall, where confusions are known."""
    rows = []
    for key in results.rows:
        if key.leak or _of_curves(key) or key.dataset in _FACES or not results.confusion(key).any():
            continue
        pairs = ", ".join(f"({a}, {b}): {count}" for a, b, count in results.confused_pairs(key))
        recall, names = results.class_accuracy(key), results.classes[key.dataset]
        order = sorted(range(len(names)), key=lambda c: -recall[c])[:3]
        best = ", ".join(f"{names[c]} {recall[c]:.1%}" for c in order)
        rows.append((key.dataset, key.method, key.setting, train(key.t), pairs or "none", best))
    of_mnist = any(row[0] == "mnist" for row in rows)
    note = "The paper, on MNIST at 500-500: (2, 7), (4, 9) and (3, 5)." if of_mnist else ""
    header = ("data set", "method", "p-q", "training", "pairs", "best recall")
    return Table("Most confused pairs", note, header, rows)


def train(t: PerClass) -> str:
    """Return the number of training images in words.

    Examples
    --------
    >>> train(0.5), train(15), train(None)
    ('half', '15 per class', 'own split')
    """
    if t is None:
        return "own split"
    return f"{t} per class" if isinstance(t, int) else "half" if t == 0.5 else f"{t:.0%} of each class"
