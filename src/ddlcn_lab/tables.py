"""The paper's tables with our results beside the published ones, and tables that the paper does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ddlcn_lab.datasets import get_source
from ddlcn_lab.methods.registry import FROZEN
from ddlcn_lab.protocols import PerClass
from ddlcn_lab.published import TABLES, Figure, read_table
from ddlcn_lab.results import Key, Mean, Results

NOT_RUN = "not run"
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
    paper = [table for name in TABLES for table in _paper_tables(results, name)]
    rest = (_other_rows(results), _gains(results), _leak(results), _confusions(results))
    return [table for table in (*paper, *rest) if table.rows]


def _paper_tables(results: Results, name: str) -> list[Table]:
    """A table of the paper, one for each of its columns that has been run at all."""
    figures = read_table(name)
    columns = dict.fromkeys((figure.dataset, figure.t) for figure in figures)
    run = {(key.dataset, key.t) for key in results.rows}
    header = ("method", "ours", "95 % interval", "published", "difference", "ms, ours", "ms, published")
    return [
        Table(
            f"{TABLES[name]}, {dataset}, {train(t)}",
            "; ".join(filter(None, (get_source(dataset).note, _splits(results, dataset, t)))),
            header,
            _paper_rows(results, [figure for figure in figures if (figure.dataset, figure.t) == (dataset, t)]),
        )
        for dataset, t in columns
        if (dataset, t) in run
    ]


def _paper_rows(results: Results, figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """A row per figure; before the paper's own, beside other networks, rows of frozen ones that were run."""
    rows = [_paper_row(results, figure) for figure in figures]
    place = next(n for n, figure in enumerate(figures) if figure.ours == "ddlcn")
    for key in results.rows:
        if _frozen(key) and (key.dataset, key.t) == (figures[0].dataset, figures[0].t):
            mean = results.mean(key)
            rows.insert(place, (_name(key), _accuracy(mean), _interval(mean), "–", "", f"{results.ms(key):.2f}", "–"))
            place += 1
    return rows


def _has_interval(mean: Mean) -> bool:
    """Whether there are enough splits, and any difference between them, for an interval."""
    return mean.n >= MIN_SPLITS and mean.std is not None and mean.std > 1e-9


def _accuracy(mean: Mean) -> str:
    """The mean, with the standard deviation of enough splits."""
    return str(mean) if mean.n >= MIN_SPLITS else f"{mean.mean:.2f}"


def _interval(mean: Mean) -> str:
    return mean.interval if _has_interval(mean) else ""


def _half(mean: Mean) -> str:
    return f"± {mean.half:.2f}" if _has_interval(mean) else ""


def _frozen(key: Key) -> bool:
    """Whether a method uses a network that was trained elsewhere."""
    return key.method.partition(":")[0] in FROZEN


def _name(key: Key) -> str:
    return f"{key.method} (frozen network, not the paper's)" if _frozen(key) else key.method


def _paper_row(results: Results, figure: Figure) -> tuple[str, ...]:
    key = next((key for key in results.rows if matches(key, figure)), None)
    published_ms = "–" if figure.ms is None else f"{figure.ms:g}"
    if key is None:
        return figure.method, NOT_RUN, "", str(figure), "", "", published_ms
    mean = results.mean(key)
    difference = "" if figure.accuracy is None else f"{mean.mean - figure.accuracy:+.2f}"
    ms = f"{results.ms(key):.2f}"
    ours = f" (ours {key.setting})" if key.setting and not (figure.p or figure.q) else ""
    return figure.method + ours, _accuracy(mean), _interval(mean), str(figure), difference, ms, published_ms


def matches(key: Key, figure: Figure) -> bool:
    """Return whether a key is what a published figure measures, run without the leak."""
    return (key.dataset, key.t, key.method, key.leak) == (figure.dataset, figure.t, figure.ours, False) and (
        figure.p in ("", "A" if key.p is None else str(key.p)) and figure.q in ("", str(key.q))
    )


def _other_rows(results: Results) -> Table:
    """What was run and is in no table of the paper."""
    published = [figure for name in TABLES for figure in read_table(name)]
    columns = {(figure.dataset, figure.t) for figure in published}
    keys = [
        key
        for key in results.rows
        if not (key.leak or (_frozen(key) and (key.dataset, key.t) in columns))
        and not any(matches(key, figure) for figure in published)
    ]
    return Table(
        "Not in the paper's tables",
        f"Accuracy in percent, with an interval if there are {MIN_SPLITS} splits or more. "
        "Balanced: the mean recall over classes. ms: milliseconds per test image, from file to label.",
        ("data set", "method", "p-q", "training", "ours", "95 % interval", "balanced", "splits", "ms"),
        [
            (
                *(key.dataset, _name(key), key.setting, train(key.t)),
                *(_accuracy(mean), _interval(mean), f"{results.balanced(key):.2f}", str(mean.n)),
                f"{results.ms(key):.2f}",
            )
            for key in keys
            for mean in [results.mean(key)]
        ],
    )


def _gains(results: Results) -> Table:
    """Each method against the paper's network on the same splits."""
    rows = []
    for key in results.rows:
        gain = results.gain(key, key._replace(method="ddlcn"))
        if key.method != "ddlcn" and not key.leak and gain:
            place = (key.dataset, key.setting, train(key.t))
            verdict = "yes" if _has_interval(gain) and abs(gain.mean) > gain.half else ""
            rows.append((*place, key.method, f"{gain.mean:+.2f}", _half(gain), verdict, str(gain.n)))
    return Table(
        "Against ddlcn on the same splits",
        f"Points of accuracy, of paired differences; 95 % by Student's t over {MIN_SPLITS} splits or more. "
        "Certain: the interval does not contain zero.",
        ("data set", "p-q", "training", "method", "gain", "95 %", "certain", "splits"),
        sorted(rows, key=lambda row: row[:3]),
    )


def _leak(results: Results) -> Table:
    rows = []
    for key in results.rows:
        without = key._replace(leak=False)
        gain = results.gain(key, without) if key.leak else None
        if gain:
            place = (key.dataset, key.method, key.setting, train(key.t))
            accuracies = (_accuracy(results.mean(without)), _accuracy(results.mean(key)))
            rows.append((*place, *accuracies, f"{gain.mean:+.2f}", _half(gain)))
    return Table(
        "How much the leak inflates accuracy",
        "Leaked: dictionary images are drawn before the split, test images included, as in the authors' code.",
        ("data set", "method", "p-q", "training", "without", "leaked", "inflated by", "95 %"),
        rows,
    )


def _confusions(results: Results) -> Table:
    """The pairs most often confused, where there are few classes."""
    rows = []
    for key in results.rows:
        if len(results.classes[key.dataset]) <= 20 and not key.leak and key.dataset in ("mnist", "caltech256"):
            pairs = ", ".join(f"({a}, {b}): {count}" for a, b, count in results.confused_pairs(key))
            rows.append((key.dataset, key.method, key.setting, train(key.t), pairs or "none"))
    note = "The paper, on MNIST at 500-500: (2, 7), (4, 9) and (3, 5)."
    return Table("Most confused pairs", note, ("data set", "method", "p-q", "training", "pairs"), rows)


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


def _splits(results: Results, dataset: str, t: PerClass) -> str:
    counts = {len(rows) for key, rows in results.rows.items() if (key.dataset, key.t) == (dataset, t)}
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low} to {high}'} split{'s' if high > 1 else ''}"
