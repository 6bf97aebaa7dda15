"""Pictures of dictionaries: the atoms with the largest weights, and the training patches nearest to them.

The atoms are those of the first channel that has learnt dictionaries, `sift` in all presets.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from ddlcn.channel import Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.report.pixels import as_image, patch
from ddlcn.report.tiles import Square, Tile, draw_tiles, plain, signed, width

_MOST_IMAGES = 200  # training images that are searched for patches, evenly drawn
_LEAST = 0.005  # weight of a first-layer atom in a deeper one that is worth showing
_WIDE, _ROW = 20.0, 1.65  # of the sheet and of a row of tiles, in sides of a square


class Layer(NamedTuple):
    """The atoms of a dictionary that are shown."""

    title: str
    tiles: list[Tile]


def atom_channel(model: DDLCNClassifier) -> Channel | None:
    """Return the channel whose atoms are shown: the first that has learnt dictionaries, or None."""
    return next((each for each in model.encoder_.channels if each.atom_classes is not None), None)


def atom_class(model: DDLCNClassifier, channel: Channel, atom: int) -> Any:
    """Return the class that a first-layer atom was learnt from."""
    assert channel.atom_classes is not None
    return model.classes_[channel.atom_classes[atom]]


def layers(model: DDLCNClassifier, images: Sequence[Any] | np.ndarray | None = None, most: int = 48) -> list[Layer]:
    """Return at most so many atoms of each layer; with training images, the patches nearest to them too."""
    channel = atom_channel(model)
    if channel is None:
        return []
    first, *deeper = channel.dictionaries
    chosen = heaviest(model, channel, most)
    patches = [[]] * len(chosen) if images is None else nearest_patches(model, channel, images, first[chosen])
    tiles = [
        Tile([Square(first[atom], f"{atom}: {plain(atom_class(model, channel, atom), 18)}"), *map(Square, near)])
        for atom, near in zip(chosen, patches, strict=True)
    ]
    rest = "" if images is None else ", each with the training patches nearest to it"
    found = [Layer(f"Layer 1: {_count(tiles, first, 'those with the largest weights')}{rest}", tiles)]
    for depth, atoms in enumerate(deeper, start=1):
        tiles = [
            Tile([Square(atoms[k], str(k)), *(Square(first[j], f"{j}: {signed(weight, 2)}") for j, weight in users)])
            for k, users in shared(channel, depth, most // 2)
        ]
        title = f"Layer {depth + 1}: {_count(tiles, atoms, 'those most used')}, each with layer-1 atoms"
        found.append(Layer(f"{title} that use it", tiles))
    return found


def draw_atoms(model: DDLCNClassifier, images: Sequence[Any] | np.ndarray | None = None, most: int = 48) -> Figure:
    """Draw the atoms of each layer on one sheet.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    images : sequence of paths or arrays, optional
        Training images: their patches nearest to each atom are drawn beside it.
    most : int
        Atoms of the first layer at most; half as many of deeper ones.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    DDLCNError
        If the model has no dictionaries.
    """
    found = layers(model, images, most)
    if not found:
        raise DDLCNError("this model has no atoms: train it with a channel that learns dictionaries")
    columns = [int(_WIDE / width(layer.tiles)) for layer in found]
    rows = [-(-len(layer.tiles) // n) for layer, n in zip(found, columns, strict=True)]
    tall = sum(1.4 + _ROW * n for n in rows)
    figure = Figure(figsize=(12, 12 * tall / _WIDE))
    axis, top = figure.add_axes((0.0, 0.0, 1.0, 1.0)), 0.0
    for layer, n_columns, n_rows in zip(found, columns, rows, strict=True):
        axis.text(0.25, top + 0.75, layer.title, fontsize=12, fontweight="bold", va="center")
        draw_tiles(axis, layer.tiles, n_columns, top + 1, _ROW)
        top += 1.4 + _ROW * n_rows
    axis.set(xlim=(0, _WIDE), ylim=(tall, 0))
    axis.set_axis_off()
    return figure


def heaviest(model: DDLCNClassifier, channel: Channel, n: int) -> np.ndarray:
    """Return the first-layer atoms with the largest weights in the SVM, over all classes and cells."""
    own = model.encoder_.slices[model.encoder_.channels.index(channel)]
    energy = np.zeros(len(channel.dictionaries[0]))
    for coef in model.svm_.coef_:
        energy += sum((weights**2).sum(axis=0) for weights in channel.pooled_coef(coef[own]))
    return np.argsort(-energy, kind="stable")[:n]


def nearest_patches(
    model: DDLCNClassifier, channel: Channel, images: Sequence[Any] | np.ndarray, atoms: np.ndarray, n: int = 3
) -> list[list[np.ndarray]]:
    """Return the patches nearest to each atom, one per image; of many images some are searched."""
    rows = np.unique(np.linspace(0, len(images) - 1, _MOST_IMAGES).astype(int))
    searches = (delayed(_nearest_in)(model, channel, as_image(model, images[i]), atoms) for i in rows)
    found = Parallel(n_jobs=model.n_jobs, prefer="threads")(searches)
    order = np.argsort([distances for distances, _ in found], axis=0, kind="stable")[:n]
    return [[found[i][1][k] for i in order[:, k]] for k in range(len(atoms))]


def _nearest_in(
    model: DDLCNClassifier, channel: Channel, image: Any, atoms: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distance and pixels of the patch of an image that is nearest to each atom."""
    grey = model.encoder_.working_image(image)
    values, positions, _, sizes = model.encoder_.describe(image)[channel.name]
    distances = (values**2).sum(axis=1)[:, None] - 2 * values @ atoms.T  # less ‖atom‖², the same for all
    best = distances.argmin(axis=0)
    return distances.min(axis=0), [patch(grey, positions[i], int(sizes[i])) for i in best]


def shared(channel: Channel, depth: int, most: int, partners: int = 4) -> list[tuple[int, list[tuple[int, float]]]]:
    """Return the deeper atoms that codes of first-layer atoms use most, each with the atoms that use it most."""
    table = reduce(np.matmul, channel.tables[:depth])
    found = []
    for k in np.argsort(-(table**2).sum(axis=0), kind="stable")[:most].tolist():
        users = np.argsort(-np.abs(table[:, k]), kind="stable")[:partners].tolist()
        found.append((k, [(j, float(table[j, k])) for j in users if abs(table[j, k]) >= _LEAST]))
    return found


def _count(tiles: list[Tile], atoms: np.ndarray, which: str) -> str:
    everything = len(tiles) == len(atoms)
    return f"all {len(atoms)} atoms" if everything else f"{len(tiles)} of {len(atoms)} atoms, {which}"
