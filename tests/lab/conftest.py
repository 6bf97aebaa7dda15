"""Small classification problems for methods."""

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits():
    """Rows of digits with labels, 200 to train and 200 to test."""
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200], X[200:400], y[200:400]


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
