"""Pictures of dictionaries: the atoms with the largest weights, and the training patches nearest to them.

Atoms of SIFT are drawn as edges, those of colour statistics as colours. Those of a network, and of any other
descriptor, can't be drawn: the training patches nearest to them take their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from ddlcn.blas import one_blas_thread
from ddlcn.channel import Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.descriptors.backbone import Backbone
from ddlcn.descriptors.color import ColorStatistics
from ddlcn.errors import DDLCNError
from ddlcn.layers.sift import DenseSIFT
from ddlcn.report.colors import color_patch
from ddlcn.report.pixels import as_image, full_contrast, patch, working_picture
from ddlcn.report.tiles import Square, Tile, captioned, draw_tiles, fitted, signed, width

_MOST_IMAGES = 100  # training images that are searched for patches, evenly drawn
_LEAST = 0.005  # weight of a first-layer atom in a deeper one that is worth showing
_WIDE, _ROW = 20.0, 1.85  # of the sheet and of a row of tiles, in sides of a square
_HEAD = 1.0  # title and note of a layer
NETWORK_NOTE = "A cell of a network's map depends on more of the image than it covers."
_DEEPER = "Below the number of a layer-1 atom: the weight of the deeper atom in its code."

Patches = list[list[np.ndarray]]  # those nearest to each atom


class Layer(NamedTuple):
    """The atoms of a dictionary that are shown, and how to read them."""

    title: str
    note: str
    tiles: list[Tile]


def atom_channels(model: DDLCNClassifier) -> list[Channel]:
    """Return the channels that have learnt dictionaries."""
    return [channel for channel in model.encoder_.channels if channel.atom_classes is not None]


def has_network(model: DDLCNClassifier) -> bool:
    """Whether a channel takes the maps of a network."""
    return any(isinstance(channel.descriptor, Backbone) for channel in model.encoder_.channels)


def atom_values(channel: Channel, atom: np.ndarray) -> np.ndarray | None:
    """Return an atom as a square of a tile takes it, or None if it can't be drawn."""
    if isinstance(channel.descriptor, DenseSIFT) and not channel.projection:
        return atom
    if isinstance(channel.descriptor, ColorStatistics) and not channel.projection:
        return color_patch(atom)
    return None


def atom_note(channel: Channel) -> str:
    """Return how to read the atoms of a channel."""
    values = atom_values(channel, channel.dictionaries[0][0])
    if values is None:
        note = "These atoms can't be drawn, only the training patches nearest to them."
        return f"{note} {NETWORK_NOTE}" if isinstance(channel.descriptor, Backbone) else note
    if values.ndim == 1:
        return "Strokes are edges; the thicker, the stronger. Each stroke is on the bright side of its edge."
    return "Mean colours of 4 × 4 cells around mid-grey, at raised contrast."


def visible_patch(channel: Channel, picture: np.ndarray, position: np.ndarray, size: int) -> np.ndarray:
    """Return the pixels that a descriptor depends on; those of SIFT, which ignores contrast, at full contrast."""
    if isinstance(channel.descriptor, DenseSIFT):  # whose gradients reach two pixels beyond the patch
        return full_contrast(patch(picture, position, size, margin=2))
    return patch(picture, position, size)


def atom_class(model: DDLCNClassifier, channel: Channel, atom: int) -> Any:
    """Return the class that a first-layer atom was learnt from."""
    assert channel.atom_classes is not None
    return model.classes_[channel.atom_classes[atom]]


def layers(model: DDLCNClassifier, images: Sequence[Any] | np.ndarray | None = None, most: int = 48) -> list[Layer]:
    """Return at most so many atoms of each layer, channel by channel; with training images, the nearest patches too."""
    channels, patches = atom_channels(model), {}
    if images is not None:
        patches = nearest_patches(model, images, {c.name: _with_patches(model, c, most) for c in channels})
    found = []
    for channel in channels:
        make = _drawn_layers if _can_be_drawn(channel) else _patch_layers
        found += make(model, channel, patches.get(channel.name), most)
    return found


def _can_be_drawn(channel: Channel) -> bool:
    return atom_values(channel, channel.dictionaries[0][0]) is not None


def _numbers(model: DDLCNClassifier, channel: Channel, most: int) -> list[list[int]]:
    """Numbers of the atoms that are shown, layer by layer."""
    deeper = range(1, len(channel.dictionaries))
    return [heaviest(model, channel, most).tolist()] + [[k for k, _ in shared(channel, d, most // 2)] for d in deeper]


def _with_patches(model: DDLCNClassifier, channel: Channel, most: int) -> np.ndarray:
    """The atoms that are shown with patches: of a channel that can be drawn, those of the first layer."""
    numbers = _numbers(model, channel, most)[: 1 if _can_be_drawn(channel) else None]
    return np.concatenate([atoms[own] for atoms, own in zip(channel.dictionaries, numbers, strict=False)])


def _drawn_layers(model: DDLCNClassifier, channel: Channel, patches: Patches | None, most: int) -> list[Layer]:
    """Layers of atoms that can be drawn."""
    first, *deeper = (
        [values for atom in atoms if (values := atom_values(channel, atom)) is not None]
        for atoms in channel.dictionaries
    )
    chosen = heaviest(model, channel, most)
    tiles = [
        Tile(captioned([first[atom], *near], _caption(model, channel, atom, alone=not near)))
        for atom, near in zip(chosen, patches or [[]] * len(chosen), strict=True)
    ]
    rest = "" if patches is None else ", each with the training patches nearest to it"
    found = [Layer(_title(channel, 0, tiles) + rest, atom_note(channel), tiles)]
    for depth, atoms in enumerate(deeper, start=1):
        tiles = [
            Tile([Square(atoms[k], str(k)), *(Square(first[j], f"{j}\n{signed(weight, 2)}") for j, weight in users)])
            for k, users in shared(channel, depth, most // 2)
        ]
        found.append(Layer(f"{_title(channel, depth, tiles)}, each with layer-1 atoms that use it", _DEEPER, tiles))
    return found


def _patch_layers(model: DDLCNClassifier, channel: Channel, patches: Patches | None, most: int) -> list[Layer]:
    """Layers of atoms that can't be drawn, each as the training patches nearest to it."""
    if patches is None:
        sizes = " + ".join(str(len(atoms)) for atoms in channel.dictionaries)
        return [Layer(f"{channel.name}: {sizes} atoms, not shown without training images", atom_note(channel), [])]
    found, rest = [], iter(patches)
    for depth, own in enumerate(_numbers(model, channel, most)):
        captions = (str(k) if depth else _caption(model, channel, k) for k in own)
        tiles = [Tile(captioned(next(rest), caption)) for caption in captions]
        found.append(Layer(_title(channel, depth, tiles), "" if depth else atom_note(channel), tiles))
    return found


def _caption(model: DDLCNClassifier, channel: Channel, atom: int, alone: bool = False) -> str:
    """Number and class of an atom; the class is cut if only one square has room for it."""
    return f"{atom}\n{fitted(atom_class(model, channel, atom), 0.9 if alone else 1.6, 9)}"


def _title(channel: Channel, depth: int, tiles: list[Tile]) -> str:
    n_atoms = len(channel.dictionaries[depth])
    which = "those most used" if depth else "those with the largest weights"
    count = f"all {n_atoms} atoms" if len(tiles) == n_atoms else f"{len(tiles)} of {n_atoms} atoms, {which}"
    return f"{channel.name}, layer {depth + 1}: {count}"


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
    tall = sum(_HEAD + 0.6 + _ROW * n for n in rows)
    figure = Figure(figsize=(12, 12 * tall / _WIDE))
    axis, top = figure.add_axes((0.0, 0.0, 1.0, 1.0)), 0.0
    for layer, n_columns, n_rows in zip(found, columns, rows, strict=True):
        axis.text(0.25, top + 0.6, layer.title, fontsize=12, fontweight="bold", va="center")
        axis.text(0.25, top + 1.0, layer.note, fontsize=9, va="center")
        draw_tiles(axis, layer.tiles, n_columns, top + _HEAD, _ROW)
        top += _HEAD + 0.6 + _ROW * n_rows
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
    model: DDLCNClassifier, images: Sequence[Any] | np.ndarray, atoms: Mapping[str, np.ndarray], n: int = 3
) -> dict[str, Patches]:
    """Return the patches nearest to atoms of channels, by name: for each atom one per image, of at most n images.

    Of many images some are searched.
    """
    rows = np.unique(np.linspace(0, len(images) - 1, _MOST_IMAGES).astype(int))
    run = Parallel(n_jobs=model.n_jobs, prefer="threads")
    with one_blas_thread():  # products of two cores in each of two threads wait for each other
        searched = run(delayed(_nearest_in)(model, as_image(model, images[i]), atoms) for i in rows)
    ranks = {
        name: np.argsort([found[name].distances for found in searched], axis=0, kind="stable")[:n] for name in atoms
    }
    jobs = []
    for i, found in enumerate(searched):
        wanted = {name: [k for k in range(len(atoms[name])) if i in order[:, k]] for name, order in ranks.items()}
        jobs.append(delayed(_cut)(model, images[rows[i]], found, wanted))
    cut = run(jobs)
    return {
        name: [[cut[i][name][k] for i in order[:, k]] for k in range(order.shape[1])] for name, order in ranks.items()
    }


class _Nearest(NamedTuple):
    """Of the patch of an image that is nearest to each atom: its distance, position and size; the image's shape."""

    distances: np.ndarray
    positions: np.ndarray
    sizes: np.ndarray
    shape: tuple[int, int]


def _nearest_in(model: DDLCNClassifier, image: Any, atoms: Mapping[str, np.ndarray]) -> dict[str, _Nearest]:
    channels = tuple(channel for channel in model.encoder_.channels if channel.name in atoms)
    encoder = replace(model.encoder_, channels=channels, weights=(1.0,) * len(channels))
    found, described = {}, encoder.describe(image)
    for channel in channels:
        values, positions, shape, sizes = described[channel.name]
        values = channel.reduced(values)
        distances = values @ (-2 * atoms[channel.name].T)
        distances += np.einsum("ij,ij->i", values, values)[:, None]  # less ‖atom‖², the same for all
        best = distances.argmin(axis=0)
        found[channel.name] = _Nearest(distances.min(axis=0), positions[best], sizes[best], shape)
    return found


def _cut(
    model: DDLCNClassifier, image: Any, found: dict[str, _Nearest], wanted: dict[str, list[int]]
) -> dict[str, dict[int, np.ndarray]]:
    """The nearest patches of some atoms in an image, by channel and atom."""
    patches: dict[str, dict[int, np.ndarray]] = {}
    pictures: dict[tuple[int, int], np.ndarray] = {}
    for name, own in wanted.items():
        _, positions, sizes, shape = found[name]
        if own and shape not in pictures:
            pictures[shape] = working_picture(model, image, shape)
        channel = model.encoder_[name]
        patches[name] = {k: visible_patch(channel, pictures[shape], positions[k], int(sizes[k])) for k in own}
    return patches


def shared(channel: Channel, depth: int, most: int, partners: int = 4) -> list[tuple[int, list[tuple[int, float]]]]:
    """Return the deeper atoms that codes of first-layer atoms use most, each with the atoms that use it most."""
    table = reduce(np.matmul, channel.tables[:depth])
    found = []
    for k in np.argsort(-(table**2).sum(axis=0), kind="stable")[:most].tolist():
        users = np.argsort(-np.abs(table[:, k]), kind="stable")[:partners].tolist()
        found.append((k, [(j, float(table[j, k])) for j in users if abs(table[j, k]) >= _LEAST]))
    return found
