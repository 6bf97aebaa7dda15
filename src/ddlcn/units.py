"""What training is made of: calls that depend on nothing but their arguments, done here or anywhere.

A dictionary for each class (Eq. 2) and sparse rows for some images at a time. They run on threads of this
process and give their results back; or, with a `Store`, each is a unit of it, and rows stay there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array

from ddlcn.copies import Change
from ddlcn.errors import DDLCNError
from ddlcn.layers.dictionary import L1BallDictionary
from ddlcn.layers.network import Coder, Network
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.layers.svm import LinearSVM
from ddlcn.layers.threads import one_blas_thread
from ddlcn.progress import track
from ddlcn.store import Shared, Store, fingerprint

_IMAGES_AT_ONCE, _LARGE_AT_ONCE = 32, 8  # images a task; no answer depends on it
_SMALL = 64 * 64  # pixels: a glance at fewer is mostly Python, which threads only hinder
_MOST_IMAGES = 256  # images a unit of a store


def learn_class(
    images: Sequence[Any],
    descriptor: DenseSIFT,
    value_range: tuple[float, float],
    n_atoms: int,
    l1_radius: float,
    seed: int,
    most_descriptors: int,
) -> np.ndarray:
    """The dictionary of one class (Eq. 2), learnt on no more than so many descriptors, evenly drawn."""
    most = max(1, most_descriptors // len(images))
    parts = []
    for image in images:
        values = descriptor.transform(image, value_range).values
        parts.append(np.ascontiguousarray(values[:: -(-len(values) // most)]))  # no view of them all
    samples = np.concatenate(parts)
    parts.clear()  # makes room
    return L1BallDictionary(n_atoms, l1_radius, random_state=seed).fit(samples).components_


def code_images(
    images: Sequence[Any],
    descriptor: DenseSIFT,
    value_range: tuple[float, float],
    network: Network,
    changes: tuple[Change, ...] = (),
    glance: bool = False,
) -> csr_array:
    """The features of some images, a sparse row each; with changes, one each, those of copies.

    At a glance, they are the deep channel alone.
    """
    if not changes:
        make = network.glance if glance else network.rows
        return make(descriptor.transform(image, value_range) for image in images)
    pairs = zip(images, changes, strict=True)
    return network.rows(descriptor.transform(image, value_range, change.of) for image, change in pairs)


def results(
    store: Store | None,
    kind: str,
    function: Callable[..., Any],
    calls: Sequence[tuple],
    n_jobs: int | None,
) -> Iterator[Any]:
    """What each call gives, in order."""
    if store is not None:
        return (store.read(name) for name in store.finish(kind, function, calls, n_jobs))
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(function)(*call) for call in calls
    )


def rows_in_turn(
    images: Sequence[Any],
    descriptor: DenseSIFT,
    value_range: tuple[float, float],
    network: Network,
    n_jobs: int | None,
    changes: tuple[Change, ...] = (),
    glance: bool = False,
    stage: str | None = None,
) -> Iterator[csr_array]:
    """The features of all images, or of copies of them, some at a time."""
    small = isinstance(images[0], np.ndarray) and images[0].size < _SMALL
    size = _IMAGES_AT_ONCE if small else _LARGE_AT_ONCE
    parts = zip(_parts(images, size), _parts(changes, size, len(images)), strict=True)
    calls = [(part, descriptor, value_range, network, change, glance) for part, change in parts]
    found = results(None, "", code_images, calls, 1 if glance and small else n_jobs)
    with one_blas_thread():
        yield from track(stage or _stage(changes, glance), found, total=len(calls))


def stored_rows_of(
    store: Store,
    images: Sequence[Any],
    descriptor: DenseSIFT,
    value_range: tuple[float, float],
    network: Network,
    n_jobs: int | None,
    changes: tuple[Change, ...] = (),
    glance: bool = False,
) -> StoredRows:
    """The features of all images, or of copies of them, in a store."""
    size = min(
        _MOST_IMAGES, max(_IMAGES_AT_ONCE, -(-len(images) // 64))
    )  # small sets too are worth sharing out
    settings = (
        network.coders,
        network.pyramid,
        network.min_channel,
        network.expand,
        network.power,
        network.deep,
        network.search,
    )
    atoms = [store.keep(atoms) for atoms in network.dictionaries]
    shared = Shared(_load_network, store, atoms, *settings, made=network)
    parts = zip(_parts(images, size), _parts(changes, size, len(images)), strict=True)
    calls = [(part, descriptor, value_range, shared, change, glance) for part, change in parts]
    found = store.finish("rows", code_images, calls, n_jobs)
    names = list(track(_stage(changes, glance), found, total=len(calls)))
    return StoredRows(store, names, (len(images), network.n_deep if glance else network.n_features))


def remember(rows: StoredRows, codes: np.ndarray, origins: np.ndarray, svm: LinearSVM) -> None:
    """Keep, beside the rows that an SVM was trained on, which they are; the SVM itself is the key."""
    names = np.frombuffer("\n".join(rows.names).encode(), np.uint8)
    rows.store.write(_training(svm), (names, codes, origins))


def trained_on(store: Store, svm: LinearSVM) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The units of rows that an SVM was trained on, and the classes and origins of their rows."""
    if _training(svm) not in store:
        raise DDLCNError(
            f"{store.path!r} does not hold the rows that this model was trained on: give the store of its "
            "training (ddlcn train --work), or train on all images"
        )
    names, codes, *origins = store.read(_training(svm))
    found = origins[0] if origins else np.arange(len(codes))  # stores from before there were copies
    return names.tobytes().decode().split("\n"), codes, found


def _training(svm: LinearSVM) -> str:
    return f"training-{fingerprint(svm.coef_, svm.intercept_)}"


def findable(images: Any) -> Any:
    """Images as any process finds them, and a fingerprint tells them apart: files by their full paths."""
    if isinstance(images, np.ndarray) and images.dtype.kind not in "US":
        return images
    return [
        Path(os.path.abspath(image)) if isinstance(image, str | os.PathLike) else np.asarray(image)
        for image in images
    ]


def take(images: Any, rows: np.ndarray) -> Any:
    """The images of some rows."""
    return images[rows] if isinstance(images, np.ndarray) else [images[row] for row in rows]


def _stage(changes: tuple[Change, ...], glance: bool) -> str:
    return "First look" if glance else "Copies" if changes else "Coding"


def _parts(values: Sequence[Any], size: int, length: int | None = None) -> list[Any]:
    """Values in parts of a size; empty ones if there are no values for what has that length."""
    return [values[start : start + size] for start in range(0, length or len(values), size)]


def _load_network(
    store: Store,
    atoms: list[str],
    coders: list[Coder],
    pyramid: SpatialPyramid,
    min_channel: bool,
    expand: bool,
    power: float,
    *more: float,
) -> Network:
    return Network([store.read(name) for name in atoms], coders, pyramid, min_channel, expand, power, *more)
