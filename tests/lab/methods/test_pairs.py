"""Dictionary pairs are a minimum of the objective of DPL."""

import numpy as np
import pytest

from ddlcn_lab.methods.pairs import DictionaryPairs

pytest.importorskip("dictlearn")
TAU, THETA, GAMMA = 0.05, 0.003, 1e-4  # dictlearn's


@pytest.fixture(scope="module")
def fitted(digits):
    X, y, *_ = digits
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return DictionaryPairs(4, passes=500).fit(X, y), X, y


def objective(X, y, pairs):
    """The problem as the module states it, codes at their best for the pairs given."""
    total = 0.0
    for k, (P, D) in enumerate(pairs):
        Y, others = X[y == k], X[y != k]
        A = (Y @ D.T + TAU * Y @ P) @ np.linalg.inv(D @ D.T + TAU * np.eye(len(D)))
        total += ((Y - A @ D) ** 2).sum() + TAU * ((Y @ P - A) ** 2).sum()
        total += THETA * ((others @ P) ** 2).sum() + GAMMA * (P**2).sum()
    return total


def test_gradient_steps_raise_objective(fitted):
    model, X, y = fitted
    best = objective(X, y, model.pairs_)
    for step in (1e-3, 1e-2, 1e-1):
        pairs = []
        for k, (P, D) in enumerate(model.pairs_):
            Y, others = X[y == k], X[y != k]
            A = (Y @ D.T + TAU * Y @ P) @ np.linalg.inv(D @ D.T + TAU * np.eye(len(D)))
            down = D - step * A.T @ (A @ D - Y)
            down /= np.maximum(np.linalg.norm(down, axis=1, keepdims=True), 1)  # in the feasible set
            slope = TAU * Y.T @ (Y @ P - A) + THETA * others.T @ (others @ P) + GAMMA * P
            pairs.append((P - step * slope, down))
        assert objective(X, y, pairs) > best * (1 - 5e-5)
    assert max(np.linalg.norm(D, axis=1).max() for _, D in model.pairs_) < 1.005  # to the tolerance of dictlearn's ADMM


def test_least_residual_wins(fitted, digits):
    model, others, truth = fitted[0], digits[2], digits[3]
    others = others / np.linalg.norm(others, axis=1, keepdims=True)
    errors = [[np.linalg.norm(x - D.T @ (P.T @ x)) for P, D in model.pairs_] for x in others]
    predicted = model.predict(others)
    np.testing.assert_array_equal(predicted, np.argmin(errors, axis=1))
    assert np.mean(predicted == truth) > 0.85
