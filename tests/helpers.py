"""What many tests need: small images, quick models, programs in a process of their own."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.testing import assert_array_equal
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, presets
from ddlcn.layers.patches import Descriptors
from ddlcn.layers.sift import DenseSIFT

ROOT = Path(__file__).parents[1]


def small_digits(per_class=12, n_classes=4):
    """The first scans of digits of some classes: images of 8 × 8 floats from 0 to 16, and labels."""
    data = load_digits(n_class=n_classes)
    rows = np.concatenate([np.flatnonzero(data.target == c)[:per_class] for c in range(n_classes)])
    return data.images[rows], data.target[rows]


def mirrored_digits():
    """Digits of which any may be mirrored, so that flipped copies help."""
    images, labels = small_digits(6, 10)
    some, rng = np.isin(labels, (2, 3, 4, 7, 9)), np.random.default_rng(0)
    return np.stack([image[:, :: rng.choice([-1, 1])] for image in images[some]]), labels[some]


def eight_bit(images):
    """Scans of digits as bytes."""
    return (np.asarray(images) * 255 / 16).round().astype(np.uint8)


def image_files(folder, images):
    """Write images as PNG files and return their paths."""
    paths = [Path(folder) / f"{i:03}.png" for i in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    return paths


def quick_channels(preset="best", **params):
    """The channels of SIFT of a preset, with fewer patches and atoms; parameters as in `sift__coder__beta=0.1`."""
    found = presets.get_preset(preset, atoms_per_class=2, deeper_atoms=(6,)).channels[:2]
    quick = {"descriptor__min_side": 40, "descriptor__contrast_threshold": 0.1, "weight": 1.0}
    own = {c.name: {k.partition("__")[2]: v for k, v in params.items() if k.startswith(f"{c.name}__")} for c in found}
    return [channel.with_params(**quick | own[channel.name]) for channel in found]


def quick_model(**params):
    """A classifier that trains in a tenth of a second."""
    settings = {"channels": quick_channels(), "deskew": False, "augmentation": "none", "C": 1.0}
    return DDLCNClassifier(**settings | params)


def assert_same_model(one, other):
    """Assert that two models have the same bytes in all that predictions depend on."""
    assert one.encoder_.to_dict() == other.encoder_.to_dict()
    first, second = (
        model.encoder_.arrays()
        | {name: getattr(model.svm_, name) for name in ("classes_", "coef_", "intercept_", "scale_")}
        for model in (one, other)
    )
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert_array_equal(array, second[name], err_msg=name)
    assert (one.classes_.tolist(), one.augmentation_) == (other.classes_.tolist(), other.augmentation_)


def run_python(code, *arguments, cwd=ROOT, **environment):
    """Run a program in a process of its own, warnings as errors, and return what it printed."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---------------------------------------------------------------------------------------- made descriptors


def unit_rows(rng, n, m=10):
    """Positive rows of unit length, as descriptors are, so that some are near each other."""
    rows = np.abs(rng.normal(size=(n, m))) ** 2
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_descriptors(rng, n_images, m=10, shape=(24, 31)):
    """Descriptors of images with unlike numbers of patches, of two sizes."""
    found = []
    for n in rng.integers(1, 20, n_images):
        positions, sizes = rng.uniform(0, 23, (n, 2)).astype(np.float32), rng.choice([4, 6], n).astype(np.int32)
        found.append(Descriptors(unit_rows(rng, n, m), positions, shape, sizes))
    return found


def dense_rows(blocks, n_features):
    """Blocks of a channel as a dense matrix."""
    rows = np.zeros((len(blocks), n_features), np.float32)
    for row, block in zip(rows, blocks, strict=True):
        row[block.columns] = block.values
    return rows


class CountingSIFT(DenseSIFT):
    """Dense SIFT that counts images by a name, and is interrupted at one if told to."""

    calls: ClassVar[Counter] = Counter()

    def __init__(self, name="sift", fail_at=None, min_side=40, patch_size=16, contrast_threshold=0.1):
        super().__init__(min_side=min_side, patch_size=patch_size, contrast_threshold=contrast_threshold)
        self.name, self.fail_at = name, fail_at

    def describe(self, image):
        self.calls[self.name] += 1
        if self.calls[self.name] == self.fail_at:
            raise KeyboardInterrupt
        return super().describe(image)


def counting_channels(**params):
    """Quick channels that share one counting descriptor."""
    CountingSIFT.calls.clear()
    return [channel.with_params(descriptor=CountingSIFT(**params)) for channel in quick_channels()]
