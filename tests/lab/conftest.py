"""Small classification problems for methods."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.report.conftest import browser  # noqa: F401


@pytest.fixture(scope="session")
def digits():
    """Rows of digits with labels, 200 to train and 200 to test."""
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200], X[200:400], y[200:400]


@pytest.fixture(scope="session")
def three_digits(digits):
    """Rows of unit length with labels, of three classes."""
    X, y, *_ = digits
    return X[y < 3] / np.linalg.norm(X[y < 3], axis=1, keepdims=True), y[y < 3]


@pytest.fixture(scope="session")
def few_digits(tmp_path_factory):
    """The name of a data set of a few digits of three classes."""
    path, digits = tmp_path_factory.mktemp("data") / "digits.npz", load_digits(n_class=3)
    np.savez(path, images=digits.images[:90], labels=digits.target[:90])
    return f"folder:{path}"


@pytest.fixture(scope="session")
def pictures():
    """Images of digits, enlarged, of five classes: 60 to train and 40 to test."""
    data = load_digits(n_class=5)
    images = np.kron(data.images[:100], np.ones((1, 4, 4))) / 16
    return images[:60], data.target[:60], images[60:], data.target[60:100]


def assert_minimum(objective, x, rows, step=1e-4):
    """Assert that no small step along an axis lowers a convex function of a matrix; steps in some rows."""
    best = objective(x)
    for row in rows:
        for column in range(x.shape[1]):
            for change in (step, -step):
                moved = x.copy()
                moved[row, column] += change
                assert objective(moved) >= best - 1e-9
