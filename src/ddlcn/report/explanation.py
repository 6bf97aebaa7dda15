"""The picture of an explanation: the image, where the evidence is, and the atoms with the largest shares."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddlcn.channel import Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.evidence import ChannelEvidence, Evidence
from ddlcn.report.atoms import atom_channel, atom_class
from ddlcn.report.pixels import EVIDENCE_COLOURS, as_image, overlay, patch
from ddlcn.report.tiles import AGAINST, FOR, Square, Tile, draw_tiles, plain, signed, width

_ATOMS, _COLUMNS, _PATCHES = 8, 4, 3


def draw_explanation(model: DDLCNClassifier, image: Any, label: Any = None) -> Figure:
    """Draw the evidence for a label, and for the most likely of the others.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    image : path or array
    label : label of a class, optional
        By default the predicted one.

    Returns
    -------
    matplotlib Figure
    """
    both = explain_both(model, image, label)
    evidence = both[0][0]
    grey = model.encoder_.working_image(as_image(model, image))
    maps, largest = evidence_maps(grey, [each for each, _ in both])
    channel = atom_channel(model)
    tiles = [] if channel is None else atom_tiles(model, channel, evidence[channel.name], grey)
    wide = width(tiles) * _COLUMNS
    low, tall = 12 * 4.4 / wide, 1.05 + float(np.clip(3.5 * grey.shape[0] / grey.shape[1], 1.5, 6))

    roles = ("predicted", "second") if label is None else ("chosen", "most likely other")
    figure = Figure(figsize=(12, tall + low), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[tall, low])[:, 0]
    axes = above.subplots(1, 3)
    axes[0].imshow(grey, cmap="gray", vmin=0, vmax=1)
    axes[0].set_title("The image at working size, and the\nstrongest patch of each atom below", fontsize=10)
    if channel is not None:
        _mark(axes[0], channel, evidence[channel.name], tiles)
    for axis, (each, probability), role, drawn in zip(axes[1:], both, roles, maps, strict=True):
        axis.imshow(drawn)
        title = f"{plain(each.label)} ({role}): {probability:.1%}"
        axis.set_title(f"{title}\n{sum_text(each, 3).replace(' = ', ' =' + chr(10))}", fontsize=10)
    bar = above.colorbar(ScalarMappable(Normalize(-largest, largest), EVIDENCE_COLOURS), ax=axes, shrink=0.8, pad=0.01)
    bar.set_ticks([-largest, 0, largest], labels=["against", "0", "for"])
    bar.set_label(f"share of the score per pixel, up to ±{largest:.1g}", fontsize=9)

    sheet = below.add_axes((0.0, 0.0, 1.0, 1.0))
    sheet.text(0.25, 0.4, _caption(channel, evidence, len(tiles)), fontsize=11, va="center")
    draw_tiles(sheet, tiles, _COLUMNS, 0.7, 1.85)
    sheet.set(xlim=(0, wide), ylim=(4.4, 0))
    for axis in (*axes, sheet):
        axis.set_axis_off()
    return figure


def explain_both(model: DDLCNClassifier, image: Any, label: Any = None) -> list[tuple[Evidence, float]]:
    """Return evidence and probability of a label, by default the predicted one, and of the most likely other."""
    probabilities = model.predict_proba([image if model.image_shape is None else np.ravel(image)])[0]
    first, second, *_ = model.classes_[np.argsort(-probabilities, kind="stable")]
    wanted = first if label is None else label
    evidences = (model.explain(image, each) for each in (wanted, second if wanted == first else first))
    of_class = dict(zip(model.classes_.tolist(), probabilities.tolist(), strict=True))
    return [(evidence, of_class[evidence.label]) for evidence in evidences]


def evidence_maps(grey: np.ndarray, evidences: Sequence[Evidence]) -> tuple[list[np.ndarray], float]:
    """Return each evidence drawn over a grey image, all on one scale, and the largest value of that scale."""
    maps = [evidence.map() for evidence in evidences]
    largest = max(float(np.abs(each).max()) for each in maps)
    return [overlay(grey, each, largest) for each in maps], largest


def sum_text(evidence: Evidence, digits: int) -> str:
    """Return the score as a sum of what channels add and the bias."""
    parts = [f"{channel.name} {signed(channel.total, digits)}" for channel in evidence.channels]
    return f"score {signed(evidence.score, digits)} = {', '.join(parts)}, bias {signed(evidence.bias, digits)}"


def strongest(evidence: ChannelEvidence, channel: Channel, n: int = _ATOMS) -> list[tuple[int, float]]:
    """Return the atoms with the largest shares, for or against, with their shares."""
    shares = evidence.by_atom(len(channel.dictionaries[0]))
    return [(int(atom), float(shares[atom])) for atom in np.argsort(-np.abs(shares), kind="stable")[:n]]


def atom_tiles(model: DDLCNClassifier, channel: Channel, evidence: ChannelEvidence, grey: np.ndarray) -> list[Tile]:
    """Return the atoms with the largest shares, each with its patches in the image."""
    _, positions, _, sizes = evidence.descriptors
    tiles = []
    for number, (atom, share) in enumerate(strongest(evidence, channel), start=1):
        caption = f"{number}.  {signed(share, 4)}\nlearnt from {plain(atom_class(model, channel, atom))}"
        patches = [patch(grey, positions[i], int(sizes[i])) for i in evidence.patches_of(atom)[:_PATCHES]]
        squares = [Square(channel.dictionaries[0][atom], caption), *map(Square, patches)]
        tiles.append(Tile(squares, FOR if share > 0 else AGAINST))
    return tiles


def _caption(channel: Channel | None, evidence: Evidence, n: int) -> str:
    own = "" if channel is None else channel.name
    rest = [f"{each.name} adds {signed(each.total, 3)}" for each in evidence.channels if each.name != own]
    atoms = f"The {n} atoms of {own} with the largest shares in {plain(evidence.label)}, with their patches"
    return "; ".join(([] if channel is None else [atoms]) + rest)


def _mark(axis: Axes, channel: Channel, evidence: ChannelEvidence, tiles: list[Tile]) -> None:
    """Frame the first patch of each tile, with the tile's number."""
    for number, ((atom, _), tile) in enumerate(zip(strongest(evidence, channel), tiles, strict=True), start=1):
        for i in evidence.patches_of(atom)[:1]:
            (y, x), size = evidence.descriptors.positions[i], int(evidence.descriptors.sizes[i])
            corner = (x - size / 2, y - size / 2)
            axis.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=tile.colour, linewidth=1.2))
            box = {"color": tile.colour, "pad": 0.6}
            axis.annotate(str(number), corner, color="w", fontsize=6, va="top", bbox=box)
