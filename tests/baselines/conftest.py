"""Small classification problems for the rivals."""

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits():
    """Rows of digits with labels, 200 to train and 200 to test."""
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200], X[200:400], y[200:400]


@pytest.fixture(scope="session")
def pictures():
    """Pictures of digits, enlarged, of five classes: 60 to train and 40 to test."""
    data = load_digits(n_class=5)
    images = np.kron(data.images[:100], np.ones((1, 4, 4))) / 16
    return images[:60], data.target[:60], images[60:], data.target[60:100]
