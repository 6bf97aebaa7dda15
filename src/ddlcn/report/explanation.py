"""The picture of an explanation: the image, where the evidence is, and the atoms that matter most."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddlcn.classifier import DDLCNClassifier
from ddlcn.evidence import Evidence
from ddlcn.report.atoms import atom_class
from ddlcn.report.pixels import EVIDENCE_COLOURS, overlay, patch, seen
from ddlcn.report.tiles import AGAINST, FOR, Beside, Tile, draw_tiles, plain, signed, width

_ATOMS, _COLUMNS, _PATCHES = 8, 4, 3


def draw_explanation(model: DDLCNClassifier, image: Any, label: Any = None) -> Figure:
    """Draw what speaks for a label (by default, the predicted one), and for the best of the others."""
    evidences, probabilities = explain_both(model, image, label)
    grey, maps = seen(model, image), [evidence.map() for evidence in evidences]
    largest = max(float(np.abs(each).max()) for each in maps)
    tiles = strongest(model, evidences[0], grey)
    wide = width(tiles) * _COLUMNS
    low, tall = 12 * 4.4 / wide, 0.65 + float(np.clip(3.5 * grey.shape[0] / grey.shape[1], 1.5, 6))

    roles = ("the answer", "the runner-up") if label is None else ("asked for", "the likeliest other")
    figure = Figure(figsize=(12, tall + low), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[tall, low])[:, 0]
    axes = above.subplots(1, 3)
    axes[0].imshow(grey, cmap="gray", vmin=0, vmax=1)
    axes[0].set_title("The image, as the model sees it,\nand where each atom below fired most", fontsize=11)
    _mark(axes[0], model, evidences[0], tiles)
    for i, (axis, evidence) in enumerate(zip(axes[1:], evidences, strict=True)):
        axis.imshow(overlay(grey, maps[i], largest))
        title = f"{plain(evidence.label)}, {roles[i]}: {probabilities[i]:.1%}"
        score, patches, bias = (
            signed(value, 3) for value in (evidence.score, evidence.score - evidence.bias, evidence.bias)
        )
        axis.set_title(f"{title}\nscore {score} = patches {patches}, bias {bias}", fontsize=11)
    bar = above.colorbar(
        ScalarMappable(Normalize(-largest, largest), EVIDENCE_COLOURS), ax=axes, shrink=0.8, pad=0.01
    )
    bar.set_ticks([-largest, 0, largest], labels=["against", "0", "for"])
    bar.set_label(f"share of the score, up to ±{largest:.1g} a pixel", fontsize=9)

    sheet = below.add_axes((0.0, 0.0, 1.0, 1.0))
    what = f"The {len(tiles)} atoms that matter most for {plain(evidences[0].label)}"
    channel = f"; the deep channel adds {signed(evidences[0].deep.sum(), 3)}" if model.network_.deep else ""
    sheet.text(0.25, 0.4, f"{what}, each with the patches that fired it{channel}", fontsize=11, va="center")
    draw_tiles(sheet, tiles, _COLUMNS, 0.7, 1.85)
    sheet.set(xlim=(0, wide), ylim=(4.4, 0))
    for axis in (*axes, sheet):
        axis.set_axis_off()
    return figure


def explain_both(
    model: DDLCNClassifier, image: Any, label: Any = None
) -> tuple[tuple[Evidence, Evidence], tuple[float, float]]:
    """Evidence for a label (by default, the predicted one) and for the best of the others; probabilities."""
    probabilities = model.predict_proba([image if model.image_shape is None else np.ravel(image)])[0]
    first, second, *_ = model.classes_[np.argsort(-probabilities, kind="stable")]
    wanted = first if label is None else label
    pair = model.explain(image, wanted), model.explain(image, second if wanted == first else first)
    of_class = dict(zip(model.classes_.tolist(), probabilities.tolist(), strict=True))
    return pair, (of_class[pair[0].label], of_class[pair[1].label])


def strongest(model: DDLCNClassifier, evidence: Evidence, grey: np.ndarray, n: int = _ATOMS) -> list[Tile]:
    """The atoms with the largest shares, for or against, with the patches that fired them."""
    return [
        Tile(
            model.network_.dictionaries[0][atom],
            f"{number}.  {signed(share, 4)}\nlearnt on {plain(atom_class(model, atom))}",
            [
                Beside(patch(grey, evidence.descriptors.positions[i], int(evidence.descriptors.sizes[i])))
                for i in evidence.fired_by(atom)[:_PATCHES]
            ],
            FOR if share > 0 else AGAINST,
        )
        for number, (atom, share) in enumerate(_largest(model, evidence, n), start=1)
    ]


def _largest(model: DDLCNClassifier, evidence: Evidence, n: int) -> list[tuple[int, float]]:
    shares = evidence.by_atom(len(model.network_.dictionaries[0]))
    return [(int(atom), float(shares[atom])) for atom in np.argsort(-np.abs(shares), kind="stable")[:n]]


def _mark(axis: Axes, model: DDLCNClassifier, evidence: Evidence, tiles: list[Tile]) -> None:
    """Frame the first patch of each tile, with the tile's number."""
    for number, ((atom, _), tile) in enumerate(
        zip(_largest(model, evidence, len(tiles)), tiles, strict=True), 1
    ):
        for i in evidence.fired_by(atom)[:1]:
            (y, x), size = evidence.descriptors.positions[i], int(evidence.descriptors.sizes[i])
            corner = (x - size / 2, y - size / 2)
            axis.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=tile.colour, linewidth=1.2))
            box = {"color": tile.colour, "pad": 0.6}
            axis.annotate(str(number), corner, color="w", fontsize=6, va="top", bbox=box)
