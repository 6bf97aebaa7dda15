"""Pictures of the dictionaries: the atoms that weigh most, and the training patches nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from ddlcn.classifier import DDLCNClassifier
from ddlcn.report.pixels import patch, seen
from ddlcn.report.tiles import Beside, Tile, draw_tiles, plain, signed, width

_MOST_IMAGES = 200  # training images that patches are looked for in, evenly drawn
_LEAST = 0.005  # weight of a first-layer atom in a deeper one that is worth a look
_WIDE, _ROW = 20.0, 1.65  # of the sheet and of a row of tiles, in sides of a square


class Layer(NamedTuple):
    """The atoms of a dictionary that are worth a look."""

    title: str
    tiles: list[Tile]


def layers(
    model: DDLCNClassifier, images: Sequence[Any] | np.ndarray | None = None, most: int = 48
) -> list[Layer]:
    """At most so many atoms of each layer; with training images, the patches nearest to them too."""
    first, *deeper = model.network_.dictionaries
    chosen = heaviest(model, most)
    patches = [[]] * len(chosen) if images is None else nearest_patches(model, images, first[chosen])
    tiles = [
        Tile(first[atom], f"{atom}: {plain(atom_class(model, atom), 18)}", [Beside(each) for each in near])
        for atom, near in zip(chosen, patches, strict=True)
    ]
    rest = "" if images is None else ", each with the training patches nearest to it"
    found = [Layer(f"Layer 1: {_count(tiles, first, 'those that weigh most')}{rest}", tiles)]
    for depth, atoms in enumerate(deeper, start=1):
        tiles = [
            Tile(atoms[k], str(k), [Beside(first[j], f"{j}: {signed(weight, 2)}") for j, weight in users])
            for k, users in shared(model, depth, most // 2)
        ]
        title = f"Layer {depth + 1}: {_count(tiles, atoms, 'those most shared')}, each with the layer-1 atoms"
        found.append(Layer(f"{title} that share it", tiles))
    return found


def draw_atoms(
    model: DDLCNClassifier, images: Sequence[Any] | np.ndarray | None = None, most: int = 48
) -> Figure:
    """Draw the atoms of each layer on one sheet."""
    found = layers(model, images, most)
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


def heaviest(model: DDLCNClassifier, n: int) -> np.ndarray:
    """The first-layer atoms with the largest weights in the SVM, over all classes and cells."""
    energy = np.zeros(len(model.network_.dictionaries[0]))
    for coef in model.svm_.coef_:
        energy += sum((weights**2).sum(axis=0) for weights in model.network_.fold(coef))
    return np.argsort(-energy, kind="stable")[:n]


def nearest_patches(
    model: DDLCNClassifier, images: Sequence[Any] | np.ndarray, atoms: np.ndarray, n: int = 3
) -> list[list[np.ndarray]]:
    """For each atom the patches nearest to it, one an image; many images are thinned evenly."""
    rows = np.unique(np.linspace(0, len(images) - 1, _MOST_IMAGES).astype(int))
    look = delayed(_nearest_in)
    found = Parallel(n_jobs=model.n_jobs, prefer="threads")(look(model, images[i], atoms) for i in rows)
    order = np.argsort([distances for distances, _ in found], axis=0, kind="stable")[:n]
    return [[found[i][1][k] for i in order[:, k]] for k in range(len(atoms))]


def atom_class(model: DDLCNClassifier, atom: int) -> Any:
    """The class that a first-layer atom was learnt on."""
    return model.classes_[atom * len(model.classes_) // len(model.network_.dictionaries[0])]


def _nearest_in(model: DDLCNClassifier, image: Any, atoms: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distance and pixels of the patch of an image that is nearest to each atom."""
    grey = seen(model, image)
    values, positions, _, sizes = model.descriptor_.transform(image, model.value_range_)
    distances = (values**2).sum(axis=1)[:, None] - 2 * values @ atoms.T  # less ‖atom‖², the same for all
    best = distances.argmin(axis=0)
    return distances.min(axis=0), [patch(grey, positions[i], int(sizes[i])) for i in best]


def shared(
    model: DDLCNClassifier, depth: int, most: int, partners: int = 4
) -> list[tuple[int, list[tuple[int, float]]]]:
    """Deeper atoms that the first layer's codes use most, with the atoms whose codes use each most."""
    table = reduce(np.matmul, model.network_.tables[:depth])
    found = []
    for k in np.argsort(-(table**2).sum(axis=0), kind="stable")[:most].tolist():
        users = np.argsort(-np.abs(table[:, k]), kind="stable")[:partners].tolist()
        found.append((k, [(j, float(table[j, k])) for j in users if abs(table[j, k]) >= _LEAST]))
    return found


def _count(tiles: list[Tile], atoms: np.ndarray, which: str) -> str:
    return (
        f"all {len(atoms)} atoms"
        if len(tiles) == len(atoms)
        else f"{len(tiles)} of {len(atoms)} atoms, {which}"
    )
