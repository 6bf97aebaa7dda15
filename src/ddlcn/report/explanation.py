"""The picture of an explanation: the image, where the evidence is, and the atoms that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evidence import Evidence
from ddlcn.report.pixels import EVIDENCE_COLOURS, overlay, patch, seen
from ddlcn.report.strokes import strokes

_ATOMS, _PATCHES = 6, 3
_FOR, _AGAINST = "#b2182b", "#2166ac"


def draw_explanation(model: DDLCNClassifier, image: Any, label: Any = None) -> Figure:
    """Draw why an image got its label (or what speaks for `label`), beside the label that came next."""
    evidences, probabilities = explain_both(model, image, label)
    grey, evidence = seen(model, image), evidences[0]
    maps = [each.map() for each in evidences]
    largest = max(float(np.abs(each).max()) for each in maps)

    tall = 0.9 + float(np.clip(3.6 * grey.shape[0] / grey.shape[1], 1.5, 6))
    figure = Figure(figsize=(12, tall + 2.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[tall, 2.5])
    axes = above.subplots(1, 3)
    axes[0].imshow(grey, cmap="gray", vmin=0, vmax=1)
    axes[0].set_title("The image, as the model sees it\n", fontsize=11)
    for axis, each, probability, own in zip(axes[1:], evidences, probabilities, maps, strict=True):
        axis.imshow(overlay(grey, own, largest))
        axis.set_title(
            f"{plain(each.label)}: {probability:.0%}\n"
            f"score {each.score:+.3f} = patches {each.score - each.bias:+.3f}, bias {each.bias:+.3f}",
            fontsize=11,
        )
    for axis in axes:
        axis.set_axis_off()
    bar = above.colorbar(
        ScalarMappable(Normalize(-largest, largest), EVIDENCE_COLOURS), ax=axes, shrink=0.8, pad=0.01
    )
    bar.set_ticks([-largest, 0, largest], labels=["against", "0", "for"])
    bar.set_label(f"share of the score, up to ±{largest:.1g} a pixel", fontsize=9)

    totals = evidence.by_atom(len(model.network_.dictionaries[0]))
    chosen = np.argsort(-np.abs(totals), kind="stable")[:_ATOMS]
    below.suptitle(
        f"The {len(chosen)} atoms that matter most for {plain(evidence.label)}, and the patches that fired them",
        fontsize=11,
    )
    grid = below.subplots(2, _ATOMS, squeeze=False, height_ratios=[3, 2])
    for number, (atom, column) in enumerate(zip(chosen, grid.T, strict=False), start=1):
        colour = _FOR if totals[atom] > 0 else _AGAINST
        draw_atom(column[0], model.network_.dictionaries[0][atom])
        column[0].set_title(
            f"{number}.  {totals[atom]:+.4f}\nlearnt on {plain(atom_class(model, atom), 16)}",
            fontsize=9,
            color=colour,
        )
        fired = evidence.fired_by(atom)[:_PATCHES]
        draw_patches(column[1], [_cut(evidence, grey, i) for i in fired])
        for i in fired:
            _mark(axes[0], evidence, i, number, colour)
    for axis in grid.ravel():
        axis.set_axis_off()
    return figure


def explain_both(
    model: DDLCNClassifier, image: Any, label: Any = None
) -> tuple[tuple[Evidence, Evidence], tuple[float, float]]:
    """Evidence for a label (by default, the predicted one) and for the best of the others; probabilities."""
    asked = image if model.image_shape is None else np.ravel(image)
    probabilities = model.predict_proba([asked])[0]
    order = model.classes_[np.argsort(-probabilities, kind="stable")]
    first = model.explain(image, order[0] if label is None else label)
    second = model.explain(image, order[1] if order[0] == first.label else order[0])
    by_label = dict(zip(model.classes_.tolist(), probabilities.tolist(), strict=True))
    return (first, second), (by_label[first.label], by_label[second.label])


def atom_class(model: DDLCNClassifier, atom: int) -> Any:
    """The class that a first-layer atom was learnt on."""
    return model.classes_[atom * len(model.classes_) // len(model.network_.dictionaries[0])]


def draw_atom(axis: Axes, atom: np.ndarray) -> None:
    """An atom as strokes, in a square."""
    segments, strengths = strokes(atom)
    axis.add_collection(LineCollection(list(segments), linewidths=0.4 + 2.2 * strengths, alpha=strengths, colors="k"))
    axis.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor="0.75", linewidth=0.8))
    axis.set(xlim=(-0.02, 1.02), ylim=(1.02, -0.02), aspect="equal")


def draw_patches(axis: Axes, patches: Sequence[np.ndarray]) -> None:
    """Patches side by side, each of full contrast."""
    for i, pixels in enumerate(patches):
        axis.imshow(pixels, cmap="gray", extent=(1.08 * i, 1.08 * i + 1, 1, 0))
    axis.set(xlim=(0, 1.08 * max(_PATCHES, len(patches)) - 0.08), ylim=(1, 0))


def plain(text: Any, most: int = 28) -> str:
    """Text for matplotlib: short, and with no sign that would start its mathematics."""
    text = str(text)
    return (text if len(text) <= most else f"{text[: most - 1]}…").replace("$", r"\$")


def _cut(evidence: Evidence, grey: np.ndarray, i: int) -> np.ndarray:
    return patch(grey, evidence.descriptors.positions[i], int(evidence.descriptors.sizes[i]))


def _mark(axis: Axes, evidence: Evidence, i: int, number: int, colour: str) -> None:
    (y, x), size = evidence.descriptors.positions[i], int(evidence.descriptors.sizes[i])
    corner = (x - size / 2, y - size / 2)
    axis.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=colour, linewidth=1.4))
    axis.annotate(str(number), corner, color="w", fontsize=7, va="top", bbox={"color": colour, "pad": 0.8})
