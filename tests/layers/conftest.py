"""Real material that every machine has: scikit-learn's photographs and digits."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_sample_image

from tests.oracles.sift import dense_sift


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
