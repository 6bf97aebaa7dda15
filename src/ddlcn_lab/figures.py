"""The paper's figures. They need rows only, but for example images, which need the data."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ddlcn.errors import DDLCNError
from ddlcn.images import read_grey
from ddlcn_lab.datasets import load_dataset
from ddlcn_lab.grid import CURVES
from ddlcn_lab.results import Key, Results
from ddlcn_lab.tables import train

_MOST_PANELS, _MOST_CURVES, _MOST_TIMES = 15, 10, 40
# axis of a figure: what differs between panels, what differs between curves
_AXES = {
    "p": ("t", "q", "images per class for the dictionary, p"),
    "q": ("p", "t", "atoms per class, q"),
    "t": ("q", "p", "training images per class, t"),
}


def all_figures(results: Results, data: str | os.PathLike[str] | None = None) -> Iterator[tuple[str, str, Figure]]:
    """Make every figure that the rows can show.

    Parameters
    ----------
    results : Results
    data : path, optional
        Folder of the data sets, for example images.

    Yields
    ------
    (str, str, Figure)
        File name, caption and figure.
    """
    for dataset in results.classes:
        if results.sources and dataset not in CURVES["curves"]:
            continue  # a file of all tables has too many methods for figures of each
        for axis in _AXES:
            yield from _curves(results, dataset, axis)
        if results.sources:
            continue
        yield from _methods(results, dataset)
        yield from _confusions(results, dataset)
        yield from _best_classes(results, dataset, data)
        yield from _times(results, dataset)


def _curves(results: Results, dataset: str, axis: str) -> Iterator[tuple[str, str, Figure]]:
    """Accuracy against p, q or t with the 95 % interval: panels and curves for the others."""
    panel, curve, words = _AXES[axis]
    found: dict[tuple[str, object], dict[object, list[Key]]] = {}
    for key in sorted(
        (key for key in results.rows if key.dataset == dataset and not key.leak and isinstance(key.t, int)),
        key=lambda key: getattr(key, axis) or np.inf,
    ):
        group = found.setdefault((key.method, getattr(key, panel)), {})
        group.setdefault(getattr(key, curve), []).append(key)
    for method in dict.fromkeys(name for name, _ in found):
        panels = {value: curves for (name, value), curves in found.items() if name == method}
        panels = dict(list(panels.items())[:_MOST_PANELS])
        if max(len(keys) for curves in panels.values() for keys in curves.values()) < 3:
            continue
        columns = min(5, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(3.2 * columns, 2.8 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for place, (value, curves) in zip(axes, panels.items(), strict=False):
            for other, keys in curves.items():
                means = [results.mean(key) for key in keys]
                at = [str(getattr(key, axis) or "A") for key in keys]
                errors = [mean.half for mean in means]
                place.errorbar(at, [mean.mean for mean in means], errors, label=f"{curve} = {other or 'A'}")
            place.set(title=f"{panel} = {value or 'A'}", xlabel=axis)
            place.grid(alpha=0.3)
        for place in axes[len(panels) :]:
            place.set_axis_off()
        axes[0].set_ylabel("accuracy, %")
        axes[0].legend(fontsize="x-small")
        yield f"{_slug(dataset, method)}-{axis}", f"{dataset}, {method}: accuracy against {words}", figure


def _methods(results: Results, dataset: str) -> Iterator[tuple[str, str, Figure]]:
    """Accuracy against t with the 95 % interval, a curve per method and setting."""
    curves: dict[str, dict[int, Key]] = {}
    for key in results.rows:
        if key.dataset == dataset and not key.leak and isinstance(key.t, int):
            curves.setdefault(f"{key.method} {key.setting}".strip(), {})[key.t] = key
    curves = {name: dict(sorted(keys.items())) for name, keys in curves.items() if len(keys) > 2}
    methods = {key.method for keys in curves.values() for key in keys.values()}
    if len(methods) < 2 or len(curves) > _MOST_CURVES:
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, keys in curves.items():
        means = [results.mean(key) for key in keys.values()]
        heights, errors = [mean.mean for mean in means], [mean.half for mean in means]
        axes.errorbar(list(keys), heights, errors, marker="o", markersize=4, label=name)
    ticks = sorted(set().union(*curves.values()))
    axes.set(xlabel=_AXES["t"][-1], ylabel="accuracy, %", xscale="log")
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    yield f"{_slug(dataset)}-methods", f"{dataset}: accuracy against {_AXES['t'][-1]}, by method", figure


def _confusions(results: Results, dataset: str) -> Iterator[tuple[str, str, Figure]]:
    names = results.classes[dataset]
    keys = [key for key in results.rows if key.dataset == dataset and not key.leak]
    if len(names) > 20 or dataset == "digits" or len({key.t for key in keys}) > 1:
        return
    for key in keys:
        counts = results.confusion(key)
        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.subplots()
        shades = np.log1p(counts)
        axes.imshow(shades, cmap="Blues", vmin=0)
        for row, column in np.ndindex(counts.shape):
            colour = "white" if shades[row, column] > 0.6 * shades.max() else "black"
            if counts[row, column]:
                axes.text(column, row, str(counts[row, column]), ha="center", va="center", color=colour, fontsize=7)
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="predicted", ylabel="true")
        pairs = ", ".join(f"({a}, {b})" for a, b, _ in results.confused_pairs(key))
        caption = f"{dataset}, {key.method} {key.setting}: confusions; most confused {pairs or 'none'}"
        yield f"{_slug(dataset, key.method, key.setting)}-confusion", caption, figure


def _best_classes(
    results: Results, dataset: str, data: str | os.PathLike[str] | None
) -> Iterator[tuple[str, str, Figure]]:
    """Four images of each of the ten classes with the best recall by the best method."""
    keys = [key for key in results.rows if key.dataset == dataset and not key.leak]
    if not dataset.startswith("caltech") or not keys:
        return
    try:
        images = load_dataset(dataset, data)
    except DDLCNError:
        return
    key = max(keys, key=lambda key: results.mean(key).mean)
    accuracy = results.class_accuracy(key)
    best = np.argsort(-accuracy, kind="stable")[:10]
    figure = Figure(figsize=(11, 2.1 * -(-len(best) // 2)), layout="constrained")
    axes = figure.subplots(-(-len(best) // 2), 8, squeeze=False).reshape(-1, 4)
    for places, c in zip(axes, best, strict=False):
        rows = np.flatnonzero(images.target == c)[: len(places)]
        for place, row in zip(places, rows, strict=False):
            place.imshow(read_grey(images.images[row]), cmap="gray")
        places[0].set_title(f"{images.target_names[c]}: {accuracy[c]:.1%}", loc="left", fontsize=9)
    for place in axes.ravel():
        place.set_axis_off()
    caption = f"{dataset}: the classes with the best recall ({key.method} {key.setting}, {train(key.t)})"
    yield f"{_slug(dataset)}-best-classes", caption, figure


def _times(results: Results, dataset: str) -> Iterator[tuple[str, str, Figure]]:
    keys: dict[tuple[str, int | None, int], Key] = {}
    for key in results.rows:
        if key.dataset == dataset and not key.leak:
            keys[key.method, key.p, key.q] = key
    if len(keys) > _MOST_TIMES or not keys:
        return
    names = [f"{key.method} {key.setting}" for key in keys.values()]
    figure = Figure(figsize=(7, 0.8 + 0.3 * len(keys)), layout="constrained")
    axes = figure.subplots()
    axes.plot([results.ms(key) for key in keys.values()], names, "o")  # a logarithmic axis has no zero for bars
    axes.grid(alpha=0.3)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first is above, and no point is cut
    axes.set(xlabel="ms per test image, from file to label", xscale="log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize="x-small")
    yield f"{_slug(dataset)}-time", f"{dataset}: time per test image", figure


def _slug(*words: str) -> str:
    return "-".join("".join(c if c.isalnum() else "-" for c in word).strip("-") for word in words if word)
