"""Pictures of the dictionaries: the atoms that weigh most, and the training patches nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure, SubFigure

from ddlcn.classifier import DDLCNClassifier
from ddlcn.report.explanation import atom_class, draw_atom, draw_patches, plain
from ddlcn.report.pixels import patch, seen

_MOST_IMAGES = 200  # training images that patches are looked for in, evenly drawn
_COLUMNS = 6


class Shared(NamedTuple):
    """A deeper atom with the first-layer atoms that share it most, and their weights."""

    atom: int
    first: np.ndarray
    weights: np.ndarray


def heaviest(model: DDLCNClassifier, n: int) -> np.ndarray:
    """The first-layer atoms with the largest weights in the SVM, over all classes and cells."""
    energy = np.zeros(len(model.network_.dictionaries[0]))
    for coef in model.svm_.coef_:
        energy += sum((weights**2).sum(axis=0) for weights in model.network_.fold(coef))
    return np.argsort(-energy, kind="stable")[:n]


def shared(model: DDLCNClassifier, layer: int, n: int, partners: int = 5) -> list[Shared]:
    """The atoms of a deeper layer that the first-layer atoms use most, layer 1 being the second."""
    table = reduce(np.matmul, model.network_.tables[:layer])
    return [
        Shared(int(k), first := np.argsort(-np.abs(table[:, k]), kind="stable")[:partners], table[first, k])
        for k in np.argsort(-(table**2).sum(axis=0), kind="stable")[:n]
    ]


def nearest_patches(
    model: DDLCNClassifier, images: Sequence[Any], atoms: np.ndarray, n: int = 3
) -> list[list[np.ndarray]]:
    """For each atom the patches nearest to it, of n images at most; many images are thinned evenly."""
    images = [images[i] for i in np.unique(np.linspace(0, len(images) - 1, _MOST_IMAGES).astype(int))]
    look = delayed(_nearest_in)
    found = Parallel(n_jobs=model.n_jobs, prefer="threads")(look(model, image, atoms) for image in images)
    distances = np.array([each[0] for each in found])
    return [
        [found[i][1][k] for i in np.argsort(distances[:, k], kind="stable")[:n]] for k in range(len(atoms))
    ]


def _nearest_in(
    model: DDLCNClassifier, image: Any, atoms: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distance and pixels of the patch of an image that is nearest to each atom."""
    grey = seen(model, image)
    values, positions, _, sizes = model.descriptor_.transform(grey)
    distances = (values**2).sum(axis=1)[:, None] - 2 * values @ atoms.T  # less ‖atom‖², the same for all
    best = distances.argmin(axis=0)
    return distances.min(axis=0), [patch(grey, positions[i], int(sizes[i])) for i in best]


def draw_atoms(model: DDLCNClassifier, images: Sequence[Any] | None = None, most: int = 48) -> Figure:
    """Draw at most so many atoms of each layer; with training images, the patches nearest to them too."""
    first, n_layers = model.network_.dictionaries[0], len(model.network_.dictionaries)
    chosen = heaviest(model, most)
    patches = [] if images is None else nearest_patches(model, images, first[chosen])
    deeper = [shared(model, layer, most // 2) for layer in range(1, n_layers)]
    heights = [0.5 + (1.9 if patches else 1.5) * -(-len(chosen) // _COLUMNS)]
    heights += [0.5 + 1.3 * -(-len(group) // (_COLUMNS // 2)) for group in deeper]
    figure = Figure(figsize=(12, sum(heights)), layout="constrained")
    parts = figure.subfigures(n_layers, 1, height_ratios=heights, squeeze=False)[:, 0]
    beside = ", above the training patches nearest to them" if patches else ""
    _title(parts[0], 1, len(chosen), len(first), "the ones that weigh most", beside)
    grid = parts[0].subplots(-(-len(chosen) // _COLUMNS) * (2 if patches else 1), _COLUMNS, squeeze=False)
    _clear(grid)
    for i, atom in enumerate(chosen):
        row, column = divmod(i, _COLUMNS)
        axis = grid[row * 2 if patches else row, column]
        draw_atom(axis, first[atom])
        axis.set_title(f"{atom}: {plain(atom_class(model, atom), 18)}", fontsize=8)
        if patches:
            draw_patches(grid[row * 2 + 1, column], patches[i])
    for layer, (part, group) in enumerate(zip(parts[1:], deeper, strict=True), start=1):
        atoms = model.network_.dictionaries[layer]
        _title(part, layer + 1, len(group), len(atoms), "the ones most shared", ", each with the layer-1 atoms")
        _draw_shared(part, group, atoms, first)
    return figure


def _draw_shared(part: SubFigure, group: list[Shared], atoms: np.ndarray, first: np.ndarray) -> None:
    groups, width = _COLUMNS // 2, 1 + max(len(each.first) for each in group)
    grid = part.subplots(-(-len(group) // groups), groups * width, squeeze=False)
    _clear(grid)
    for i, each in enumerate(group):
        row, column = divmod(i, groups)
        cells = grid[row, column * width : (column + 1) * width]
        draw_atom(cells[0], atoms[each.atom])
        cells[0].set_title(f"{each.atom}", fontsize=9, fontweight="bold")
        cells[0].patches[0].set(edgecolor="k", linewidth=1.5)
        for cell, atom, weight in zip(cells[1:], each.first, each.weights, strict=False):
            draw_atom(cell, first[atom])
            cell.set_title(f"{atom}: {weight:+.2f}", fontsize=7)


def _title(part: SubFigure, layer: int, shown: int, total: int, which: str, rest: str) -> None:
    count = f"all {total} atoms" if shown == total else f"{shown} of {total} atoms, {which}"
    part.suptitle(f"Layer {layer}: {count}{rest}", fontsize=12)


def _clear(grid: np.ndarray) -> None:
    for axis in grid.ravel():
        axis.set_axis_off()
