"""The picture of an explanation: the image, where the evidence is, and the atoms with the largest shares."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddlcn.channel import Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.evidence import Evidence
from ddlcn.report.atoms import NETWORK_NOTE, atom_channels, atom_class, atom_values, has_network, visible_patch
from ddlcn.report.pixels import EVIDENCE_COLOURS, as_image, overlay, working_picture
from ddlcn.report.tiles import AGAINST, FOR, Tile, captioned, draw_tiles, fitted, signed, width

_ATOMS, _COLUMNS, _PATCHES = 8, 4, 3
_WIDE, _MAP = 12, 3.5  # inches of the figure and of a map
_LINE = 40  # characters above a map


def draw_explanation(
    model: DDLCNClassifier, image: Any, label: Any = None, both: list[tuple[Evidence, float]] | None = None
) -> Figure:
    """Draw the evidence for a label, and for the most likely of the others.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    image : path or array
    label : label of a class, optional
        By default the predicted one.
    both : list of (Evidence, float), optional
        What `explain_both` returns for these, if it is known already.

    Returns
    -------
    matplotlib Figure
    """
    both = both or explain_both(model, image, label)
    evidence = both[0][0]
    picture, strong = working_picture(model, image, evidence.shape), strongest(model, evidence)
    grey = model.encoder_.working_image(as_image(model, image), evidence.shape)
    maps, largest = evidence_maps(grey, [each for each, _ in both])
    tiles = atom_tiles(model, image, evidence, strong)
    sums = [fill(each.as_sum(3).replace(" +", "\xa0+").replace(" −", "\xa0−"), _LINE) for each, _ in both]
    lines = 2 + max(text.count("\n") + 1 for text in sums)
    wide = width(tiles) * _COLUMNS
    rows = 0.9 + 1.85 * -(-len(tiles) // _COLUMNS)
    low = _WIDE * rows / wide
    tall = float(np.clip(_MAP * grey.shape[0] / grey.shape[1], 2, 6))
    whole = low + 0.2 + tall + 0.2 * lines + 0.2

    roles = ("predicted", "second") if label is None else ("chosen", "most likely other")
    figure = Figure(figsize=(_WIDE, whole))

    def place(left: float, bottom: float, width: float, height: float) -> Axes:
        return figure.add_axes((left / _WIDE, bottom / whole, width / _WIDE, height / whole))

    axes = [place(0.1 + column * (_MAP + 0.1), low + 0.2, _MAP, tall) for column in range(3)]
    axes[0].imshow(picture, cmap="gray", vmin=0, vmax=1)
    axes[0].set_title("The image at working size, and the\nstrongest patch of each atom below", fontsize=10)
    _mark(axes[0], evidence, strong, tiles)
    for axis, (each, probability), role, text, drawn in zip(axes[1:], both, roles, sums, maps, strict=True):
        axis.imshow(drawn)
        axis.set_title(f"{fitted(each.label, _MAP, 10)}\n{role}: {probability:.1%}\n{text}", fontsize=10)
    colours = ScalarMappable(Normalize(-largest, largest), EVIDENCE_COLOURS)
    bar = figure.colorbar(colours, cax=place(10.95, low + 0.3, 0.15, tall - 0.2))
    bar.set_ticks([-largest, 0, largest], labels=["against", "0", "for"])
    bar.set_label(f"share of the score\nper pixel, up to ±{largest:.1g}", fontsize=9, labelpad=-16)

    sheet = place(0, 0, _WIDE, low)
    caption = f"The {len(tiles)} atoms with the largest shares in {fitted(evidence.label, 4, 11)}, with their patches"
    notes = [caption] * bool(tiles) + [NETWORK_NOTE] * has_network(model)
    sheet.text(0.25, 0.4, "\n".join(notes), fontsize=11, va="center")
    draw_tiles(sheet, tiles, _COLUMNS, 0.7, 1.85)
    sheet.set(xlim=(0, wide), ylim=(rows, 0))
    for axis in (*axes, sheet):
        axis.set_axis_off()
        axis.set_anchor("S")
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


def strongest(model: DDLCNClassifier, evidence: Evidence, n: int = _ATOMS) -> list[tuple[Channel, int, float]]:
    """Return the atoms with the largest shares, for or against, of all channels: channel, atom and share."""
    found = []
    for channel in atom_channels(model):
        shares = evidence[channel.name].by_atom(len(channel.dictionaries[0]))
        largest = np.argsort(-np.abs(shares), kind="stable")[:n]
        found += [(channel, int(atom), float(shares[atom])) for atom in largest if shares[atom]]
    return sorted(found, key=lambda each: -abs(each[2]))[:n]


def atom_tiles(
    model: DDLCNClassifier, image: Any, evidence: Evidence, strong: Sequence[tuple[Channel, int, float]]
) -> list[Tile]:
    """Return atoms with their shares, each with its patches in the image."""
    shapes = {evidence[channel.name].descriptors.shape for channel, *_ in strong}
    pictures = {shape: working_picture(model, image, shape) for shape in shapes}
    tiles = []
    for number, (channel, atom, share) in enumerate(strong, start=1):
        _, positions, shape, sizes = evidence[channel.name].descriptors
        own = evidence[channel.name].patches_of(atom)[:_PATCHES]
        values = atom_values(channel, channel.dictionaries[0][atom])
        patches = [visible_patch(channel, pictures[shape], positions[i], int(sizes[i])) for i in own]
        learnt_from = fitted(atom_class(model, channel, atom), 2, 9)
        caption = f"{number}. {fitted(channel.name, 1.8, 9)} {signed(share, 4)}\nlearnt from {learnt_from}"
        squares = captioned(patches if values is None else [values, *patches], caption)
        tiles.append(Tile(squares, FOR if share > 0 else AGAINST))
    return tiles


def _mark(axis: Axes, evidence: Evidence, strong: Sequence[tuple[Channel, int, float]], tiles: list[Tile]) -> None:
    """Frame the first patch of each tile, with the tile's number; frames at one corner share a text."""
    corners: dict[tuple[int, int], list[int]] = {}
    for number, ((channel, atom, _), tile) in enumerate(zip(strong, tiles, strict=True), start=1):
        own = evidence[channel.name]
        i = own.patches_of(atom)[0]
        height, width = np.divide(evidence.shape, own.descriptors.shape) * int(own.descriptors.sizes[i])
        y, x = (own.descriptors.positions[i] + 0.5) * np.divide(evidence.shape, own.descriptors.shape) - 0.5
        left, top = x - width / 2, y - height / 2
        axis.add_patch(Rectangle((left, top), width, height, fill=False, edgecolor=tile.colour, linewidth=1.2))
        corners.setdefault((round(left), round(top)), []).append(number)
    for corner, numbers in corners.items():
        box = {"color": tiles[numbers[0] - 1].colour, "pad": 0.6}
        axis.annotate(", ".join(map(str, numbers)), corner, color="w", fontsize=6, va="top", bbox=box)
