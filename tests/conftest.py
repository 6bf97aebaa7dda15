"""Fixtures for all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_sample_image

from tests.helpers import quick_channels, quick_model, small_digits
from tests.oracles.sift import dense_sift


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before xdist's workers start, or each compiles its own."""
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        digits = load_digits()
        for preset in ("paper", "best"):
            model = quick_model(channels=quick_channels(preset), deskew="auto", augmentation="auto", C="auto")
            model.fit(digits.images[:100], digits.target[:100]).explain(digits.images[0])


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets: $DDLCN_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("DDLCN_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set DDLCN_DATA")
    return folder


@pytest.fixture(scope="session")
def digits():
    """Twelve digits of each of four classes, and labels."""
    return small_digits()


@pytest.fixture(scope="session")
def photographs():
    """Two grey photographs, 427×640, of 8 bits."""
    names = ("china.jpg", "flower.jpg")
    return [(load_sample_image(n) @ [0.299, 0.587, 0.114]).round().astype(np.uint8) for n in names]


@pytest.fixture(scope="session")
def photo_descriptors(photographs):
    """About 1,300 descriptors of the first photograph, from the oracle."""
    return dense_sift(photographs[0][100:400, 200:500] / 255, step=8)[0].astype(np.float32)


@pytest.fixture(scope="session")
def digit_descriptors():
    """About 1,000 descriptors of digits of each of three classes, and their labels."""
    digits = load_digits(n_class=3)
    rows = [dense_sift(np.kron(image / 16, np.ones((4, 4))))[0] for image in digits.images[:330]]
    return np.concatenate(rows).astype(np.float32), np.repeat(digits.target[:330], [len(r) for r in rows])
