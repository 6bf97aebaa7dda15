"""Data sets by name, found under a folder of the user, $DDLCN_DATA, or a cache."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_digits

from ddlcn.errors import DDLCNError
from ddlcn.images import ImageSet, load_images


@dataclass(frozen=True)
class Source:
    """Where a data set lies under the data folder, how it is read, and how it is used."""

    path: str  # the file or folder that is wanted
    what: str  # what to put there
    read: Callable[[Path], ImageSet]
    t: tuple[int | float | None, ...]  # training images per class: a number, a share, None = the set's own
    settings: tuple[str, ...]  # p-q of the table
    splits: int = 10
    most_test: int | None = None  # test images per class
    note: str = ""  # how it differs from the paper's task


def _folder(path: Path) -> ImageSet:
    return load_images(path)


def _mnist(path: Path) -> ImageSet:
    """Training digits, then the 10,000 test digits."""
    parts = [load_images(path, part="train"), load_images(path, part="test")]
    images, labels = (np.concatenate([getattr(part, key) for part in parts]) for key in ("images", "labels"))
    return ImageSet.of(images, labels, str(path))


def _yaleb_excluded(path: Path) -> ImageSet:
    """Extended Yale B without the 10 worst lit images of each person.

    The paper does not list its bad images. Our rule: the ten with the largest angle between the light and
    the camera, arccos(cos azimuth · cos elevation), by the angles in the file names (`A+110E-20`). Where all
    are there it is the ten lit from behind, |azimuth| ≥ 110°; ties go by name.
    """
    faces = load_images(path)
    paths = faces.paths or []
    worst = sorted(range(len(paths)), key=lambda row: (-_light_angle(paths[row]), paths[row]))
    seen, kept = np.zeros(len(faces.target_names), int), []
    for row in worst:
        seen[faces.target[row]] += 1
        if seen[faces.target[row]] > 10:
            kept.append(row)
    return faces.take(np.sort(kept))


def _light_angle(path: str) -> float:
    """Degrees between light and camera.

    >>> round(_light_angle("yaleB01_P00A+130E+20.pgm"))
    127
    """
    found = re.search(r"A([+-]\d+)E([+-]\d+)", os.path.basename(path))
    if not found:
        raise DDLCNError(f"{path!r} names no lighting angles (as in A+110E-20); use the files as distributed")
    azimuth, elevation = np.radians([float(angle) for angle in found.groups()])
    return float(np.degrees(np.arccos(np.cos(azimuth) * np.cos(elevation))))


def _ar(path: Path) -> ImageSet:
    """AR faces of 42 × 30: one column per image, pixels column by column."""
    try:
        file = loadmat(path, variable_names=["DATA", "Label"])
        pixels, labels = file["DATA"], file["Label"].ravel().astype(int)
        images = pixels.T.reshape(len(labels), 30, 42).transpose(0, 2, 1)
    except Exception as error:  # scipy raises many kinds on damaged files
        what = " ".join(str(error).split())[:100]
        raise DDLCNError(f"{str(path)!r} can't be read ({what}): give DATA 1260×2600 and Label") from None
    return ImageSet.of(np.ascontiguousarray(images), labels, str(path))


def _digits(_: Path) -> ImageSet:
    digits = load_digits()
    return ImageSet.of(digits.images, digits.target, "scikit-learn's digits")


def _small_set(path: str, what: str) -> Source:
    """A set for developing channels: 5 or 20 images per class train, up to 40 others test."""
    note = f"not in the paper; up to {_MOST_TEST} test images per class"
    return Source(path, f"{what}, a folder per class", _folder, (5, 20), ("15-15",), 10, _MOST_TEST, note)


_MOST_TEST = 40
_YALEB = "the 38 folders yaleB01 … yaleB39 of the cropped Extended Yale Face Database B"
_YALEB_PATH = "extended_yale_b/CroppedYale"
_YALEB_SETTINGS = ("1-1", "15-15", "55-15", "A-15")
SOURCES: dict[str, Source] = {
    "mnist": Source(
        "mnist", "the four IDX files of MNIST, such as train-images-idx3-ubyte.gz", _mnist,
        (None,), ("1-2", "100-100", "500-500"), splits=1,
    ),
    "yaleb": Source(_YALEB_PATH, _YALEB, _folder, (0.5,), _YALEB_SETTINGS),
    "yaleb-excluded": Source(_YALEB_PATH, _YALEB, _yaleb_excluded, (0.5,), _YALEB_SETTINGS),
    "ar": Source(
        "ar/AR_42_30.mat", "AR faces as AR_42_30.mat (DATA 1260×2600, Label)", _ar, (20,),
        ("1-1", "5-5", "A-5"), note="images of 42×30 pixels, smaller than the paper's",
    ),
    "caltech101": Source(
        "caltech101", "Caltech-101, a folder per class", _folder, (15, 30),
        ("15-15", "30-30"), splits=3, note="not in the paper; tested on the rest of the images found",
    ),
    "caltech256": Source(
        "caltech256_10", "classes of Caltech-256, a folder each", _folder, (15, 30, 45, 60),
        ("1-1", "15-15", "30-30"), splits=3,
        note="the classes found, not the paper's 257: not comparable with its figures",
    ),
    "flowers17": _small_set("flowers17", "Oxford Flowers 17"),
    "neu_det": _small_set("neu_det", "NEU steel surface defects"),
    "wbc1": _small_set("wbc1", "stained white blood cells"),
    "digits": Source("", "", _digits, (0.5,), ("1-1", "15-15"), splits=3, note="not in the paper"),
}  # fmt: skip


def get_source(name: str) -> Source:
    """Return what is known of a data set.

    Parameters
    ----------
    name : str
        A key of `SOURCES`, or `folder:PATH` for any other collection, such as a folder with a folder per class.

    Returns
    -------
    Source
    """
    if name.startswith("folder:"):
        path = os.path.abspath(name.removeprefix("folder:"))
        return Source(path, "a folder per class", _folder, (0.5,), ("15-15",), 3, note="not in the paper")
    if name not in SOURCES:
        raise DDLCNError(f"data set {name!r} is unknown; choose from {', '.join(SOURCES)} or folder:PATH")
    return SOURCES[name]


def load_dataset(name: str, data: str | os.PathLike[str] | None = None) -> ImageSet:
    """Load a data set from `data`, $DDLCN_DATA or the cache.

    Parameters
    ----------
    name : str
    data : path, optional
        Folder of the data sets.

    Returns
    -------
    ImageSet

    Raises
    ------
    DDLCNError
        If it is not there; the message says what to put where.

    Examples
    --------
    >>> len(load_dataset("digits"))
    1797
    """
    source = get_source(name)
    roots = [Path(data)] if data else [Path(p) for p in (os.environ.get("DDLCN_DATA"), _cache()) if p]
    found = next((root / source.path for root in roots if (root / source.path).exists()), None)
    if found is None and source.path:
        raise DDLCNError(
            f"data set {name!r} is not there: put {source.what} at {str(roots[0] / source.path)!r}, "
            "or name their folder by --data or $DDLCN_DATA"
        )
    return source.read(found or Path())


def own_test_rows(name: str, images: ImageSet) -> np.ndarray | None:
    """Return the rows of the test set that a data set comes with.

    Parameters
    ----------
    name : str
    images : ImageSet
        All images of the set.

    Returns
    -------
    array of int, or None if splits are drawn
    """
    return np.arange(len(images) - 10_000, len(images)) if name == "mnist" else None


def _cache() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ddlcn")
