"""The recipe on digits; what it is for needs MNIST."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from ddlcn_lab.recipes.mnist import MNISTRecipe


@pytest.fixture(scope="module")
def digits():
    data = load_digits(n_class=4)
    order = np.random.default_rng(0).permutation(len(data.target))
    train, test = order[:160], order[160:260]
    return data.images[train], data.target[train], data.images[test], data.target[test]


@pytest.fixture(scope="module")
def model(digits):
    return MNISTRecipe(15, 5, share=0.85, min_images=1).fit(*digits[:2])


def test_hard_images(model, digits):
    """The share, or 30 of each class if these are more."""
    assert 136 <= len(model.hard_) < 160
    assert (np.bincount(digits[1][model.hard_]) >= np.minimum(np.bincount(digits[1]), 30)).all()


def test_close_scores_are_averaged(model, digits):
    """Clear images keep their own scores."""
    plain, found = model.svm_.scores(model.encoder_.transform(digits[2])), model.decision_function(digits[2])
    best = np.sort(plain, axis=1)
    close = best[:, -1] - best[:, -2] < 1
    assert 0 < close.sum() < len(close)
    np.testing.assert_allclose(found[~close], plain[~close], rtol=1e-6)
    assert (found[close] != plain[close]).any(axis=1).all()


def test_order_of_images(model, digits):
    X, y, others, _ = digits
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = MNISTRecipe(15, 5, share=0.85, min_images=1).fit(X[order], y[order])
    np.testing.assert_array_equal(shuffled.decision_function(others), model.decision_function(others))
    np.testing.assert_array_equal(np.sort(order[shuffled.hard_]), model.hard_)


def test_two_classes(digits):
    X, y, others, truth = digits
    model = MNISTRecipe(5, 3, min_images=20).fit(X[y < 2], y[y < 2])
    assert model.score(others[truth < 2], truth[truth < 2]) > 0.9
    with pytest.raises(NotFittedError):
        MNISTRecipe().predict(others)
