"""Folds, samples and held-out scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.linear.calibration import calibrate, score_per_class
from ddlcn.linear.gram import gram_matrix
from ddlcn.linear.svm import LinearSVM
from ddlcn.linear.validation import draw, folds, held_out_log_likelihood, rows_to_use, split
from tests.linear.problems import TALL, noisy


@pytest.mark.parametrize("sizes", [(1, 2, 3, 30), (2, 2), (1, 1, 2), (500, 501)])
def test_folds(sizes):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = folds(y, 0)
    for c, size in enumerate(sizes):
        counts = np.bincount(found[y == c] + 1, minlength=4)
        assert counts[0] == (size if size == 1 else 0)
        if size > 1:
            assert np.ptp(counts[1 : 1 + min(3, max(sizes))]) <= 1
    assert found.max() + 1 == min(3, max(sizes))


def test_folds_of_single_images():
    assert_array_equal(folds(np.array(["a", "b", "c"]), 0), [-1, -1, -1])
    assert len(folds(np.array([]), 0)) == 0


def test_folds_are_seeded():
    y = np.arange(90) % 3
    assert_array_equal(folds(y, 5), folds(y, 5))
    assert (folds(y, 5) != folds(y, 6)).any()
    assert folds(y, 0, n_folds=5).max() == 4


@pytest.mark.parametrize("n", [1, 7, 100, 460])
def test_draw(n):
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [300, 150, 1]))
    rows = draw(y, n, 0)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == min(n, 451)
    if n > 2:
        assert_allclose(np.bincount(y[rows]), np.maximum(1, np.array([300, 150, 1]) * len(rows) / 451), atol=1)
    assert (draw(y, n, 1) != rows).any() or n in (1, 460)


def test_copies_follow_their_original():
    y = np.tile(np.repeat(np.arange(5), 8), 3)
    groups = np.tile(np.arange(40), 3)
    found, held_out = split(y, groups, np.ones(120), 0)
    assert_array_equal(found, found[groups])
    assert_array_equal(held_out, np.arange(40))
    assert_array_equal(found[:40], split(y[:40], np.arange(40), np.ones(40), 0)[0])


def test_at_most_1000_are_held_out():
    y = np.repeat([0, 1, 2], [3000, 1000, 1])
    found, held_out = split(y, np.arange(4001), np.ones(4001), 0)
    assert np.bincount(y[held_out]).tolist() == [750, 250]
    assert_array_equal(np.flatnonzero(found >= 0), held_out)
    assert np.bincount(found[held_out]).min() > 300


def test_rows_without_weight_are_not_held_out():
    y, weights = np.arange(60) % 2, np.where(np.arange(60) < 20, 0.0, 1.0)
    found, held_out = split(y, np.arange(60), weights, 0)
    assert_array_equal(held_out, np.arange(20, 60))
    assert (found[:20] == -1).all()


def test_sample_of_many_rows():
    y = np.concatenate([np.repeat([0, 1, 2], [6000, 2999, 1]), np.zeros(1001, int)])
    groups = np.concatenate([np.arange(9000), np.arange(1001)])
    weights = np.where(np.arange(len(y)) % 10 == 0, 0.0, 1.0)
    rows = rows_to_use(y, groups, weights, 0)
    assert len(rows) == 5000
    assert rows.max() < 9000
    assert (rows % 10 > 0).all()
    assert_allclose(np.bincount(y[rows]), [3333, 1666, 1], atol=2)
    assert_array_equal(rows_to_use(y[:10_000], groups[:10_000], weights[:10_000], 0), np.arange(10_000))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_out_log_likelihood(n_classes):
    """Against an SVM for each fold, trained without it and its copies, with weights."""
    X, y, _ = noisy(TALL, n_classes)
    rng = np.random.default_rng(0)
    X, y, groups = X[:300].toarray(), y[:300], np.concatenate([np.arange(200), np.arange(100)])
    X[200:], y[200:] = X[:100] + 0.01 * rng.normal(size=(100, X.shape[1])), y[:100]
    weights = rng.uniform(0.5, 2, size=300)
    found = held_out_log_likelihood(gram_matrix(X), y, 10.0, 0, groups, weights)
    fold_of, scores = folds(y[:200], 0)[groups], np.empty((200, n_classes))
    for fold in range(3):
        train, out = fold_of != fold, np.flatnonzero(fold_of[:200] == fold)
        model = LinearSVM(10.0, tol=1e-6).fit(X[train], y[train], weights[train])
        scores[out] = score_per_class(model.decision_function(X[out]))
    assert_allclose(found, calibrate(scores, y[:200])[1], atol=0.05)
    assert_array_equal(held_out_log_likelihood(gram_matrix(X), y, 10.0, 0, groups, weights, n_jobs=3), found)


def test_single_image_per_class():
    assert len(held_out_log_likelihood(np.eye(4), np.array(list("abcd")), 1.0, 0)) == 0
    copies, y = np.ones((4, 4)), np.array(["a", "b", "a", "b"])
    assert len(held_out_log_likelihood(copies, y, 1.0, 0, groups=np.array([0, 1, 0, 1]))) == 0
    assert len(held_out_log_likelihood(copies, np.zeros(4), 1.0, 0)) == 0
