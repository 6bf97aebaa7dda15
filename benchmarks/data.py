"""The real images that the parts are measured on, from $DDLCN_DATA or ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ddlcn import DDLCNClassifier, DenseSIFT
from ddlcn.images import ImageSet
from ddlcn_lab.datasets import get_source, load_dataset, own_test_rows
from ddlcn_lab.protocols import draw_split

os.environ.setdefault("DDLCN_DATA", str(Path(__file__).parents[2] / "shared" / "data"))


def task(
    name: str, t: int | float | None = None, n_classes: int | None = None, n_images: int | None = None
) -> tuple[ImageSet, ImageSet]:
    """Training and test images of a data set's first split, of the first classes and images if given."""
    every = load_dataset(name)
    if n_classes is not None:
        rows = np.flatnonzero(every.target < n_classes)
        every = ImageSet.of([every.images[row] for row in rows], every.labels[rows])
    share = get_source(name).t[0] if t is None else t
    train, test = draw_split(every, share, 0, own_test=own_test_rows(name, every))
    return every.take(train[:n_images]), every.take(test[:n_images])


def of_class(images: ImageSet, number: int, n_images: int) -> ImageSet:
    """The first images of a class."""
    return images.take(np.flatnonzero(images.target == number)[:n_images])


def descriptors(images: ImageSet) -> np.ndarray:
    """Descriptors of all images by the paper's settings."""
    sift = DenseSIFT()
    return np.concatenate([sift.describe(image).values for image in images.images])


def face_model(folder: str, preset: str) -> Path:
    """The file of a model of Extended Yale B, 15-15: 570 atoms."""
    train, path = task("yaleb")[0], Path(folder) / "faces.ddlcn"
    model = DDLCNClassifier(preset=preset, images_per_class=15, atoms_per_class=15, C=1.0, n_jobs=2)
    model.fit(train.images, train.target).save(path)
    return path
