"""Folds, samples and held-out scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.linear.calibration import calibrate, score_per_class
from ddlcn.linear.gram import gram_matrix
from ddlcn.linear.svm import LinearSVM
from ddlcn.linear.validation import draw, folds, held_out_log_likelihood, split
from tests.linear.problems import TALL, noisy


@pytest.mark.parametrize("sizes", [(1, 2, 3, 30), (2, 2), (1, 1, 2), (500, 501), (1, 1)])
def test_folds(sizes):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = folds(y, 0)
    for c, size in enumerate(sizes):
        counts = np.bincount(found[y == c] + 1, minlength=4)
        assert counts[0] == (size if size == 1 else 0)
        if size > 1:
            assert np.ptp(counts[1 : 1 + min(3, max(sizes))]) <= 1
    assert found.max() + 1 == (min(3, max(sizes)) if max(sizes) > 1 else 0)


@pytest.mark.parametrize("n", [1, 7, 100, 460])
def test_draw(n):
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [300, 150, 1]))
    rows = draw(y, n, 0)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == min(n, 451)
    if n > 2:
        assert_allclose(np.bincount(y[rows]), np.maximum(1, np.array([300, 150, 1]) * len(rows) / 451), atol=1)
    assert (draw(y, n, 1) != rows).any() or n in (1, 460)


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
    counts = weights[:200] * (np.bincount(y, weights) / np.bincount(y[:200], weights[:200]))[y[:200]]
    truth = calibrate(scores, y[:200], np.bincount(y), counts / counts.mean()).log_likelihood
    assert_allclose(found, truth, atol=0.05, rtol=0.02)
    assert np.abs(found - truth).mean() < 0.01
    assert_array_equal(held_out_log_likelihood(gram_matrix(X), y, 10.0, 0, groups, weights, n_jobs=3), found)
    assert len(held_out_log_likelihood(np.eye(4), np.arange(4), 1.0, 0)) == 0  # single images


def test_only_unseen_rows_are_held_out():
    """Copies of unseen rows follow them; if a class has no unseen row, all are held out."""
    y, groups = np.tile(np.repeat(np.arange(3), 4), 2), np.tile(np.arange(12), 2)
    unseen = np.arange(24) % 4 == 1
    fold_of, held_out = split(y, groups, np.ones(24), 0, unseen)
    assert_array_equal(held_out, [1, 5, 9])
    assert_array_equal(np.flatnonzero(fold_of >= 0), [1, 5, 9, 13, 17, 21])
    assert len(split(y, groups, np.ones(24), 0, np.zeros(24, bool))[1]) == 12
    assert len(split(y, groups, np.ones(24), 0, unseen & (y > 0))[1]) == 12  # a class without any
    rows = np.random.default_rng(0).normal(size=(24, 20))
    assert len(held_out_log_likelihood(rows @ rows.T, y, 1.0, 0, groups, unseen=unseen)) == 3
