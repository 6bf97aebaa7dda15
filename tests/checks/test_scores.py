"""Scores of findings."""

import numpy as np

from ddlcn.checks import blank_score, is_mislabelled, mislabelled_score, unbalanced_score, unusual_score

NAN = np.nan


def test_mislabelled() -> None:
    p = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [NAN] * 3])
    y = np.array([0, 0, 1, 2, 2])
    np.testing.assert_allclose(mislabelled_score(p, y), [0.1, 0.8, 0.2, 0.6, NAN])
    assert is_mislabelled(p, y).tolist() == [False, False, False, False, False]  # 0.7 is less than 0.8, as usual in 1
    p[1] = [0.1, 0.85, 0.05]
    assert is_mislabelled(p, y).tolist() == [False, True, False, False, False]


def test_scores_are_within_0_and_1() -> None:
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([0.1] * 4, 200), rng.integers(0, 4, 200)
    for score in (
        mislabelled_score(p, y),
        unusual_score(rng.exponential(size=200)),
        blank_score(rng.random(200)),
        unbalanced_score(np.bincount(y)),
    ):
        assert score.min() >= 0
        assert score.max() <= 1


def test_hard_problem_has_few_findings() -> None:
    """Where classes overlap, many images are classified wrongly, but few of them with confidence."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    odds = np.exp(rng.normal(np.eye(3)[y], 1))
    p = odds / odds.sum(axis=1, keepdims=True)
    wrong, found = p.argmax(axis=1) != y, is_mislabelled(p, y)
    assert found.sum() < 0.7 * wrong.sum()
    assert not (found & ~wrong).any()


def test_class_without_judged_images() -> None:
    p = np.array([[0.4, 0.6], [NAN, NAN]])
    assert is_mislabelled(p, np.array([0, 1])).tolist() == [False, False]


def test_unusual_by_deviation() -> None:
    assert unusual_score(np.array([0.0, 1, 3, 9])).tolist() == [0, 0.5, 0.75, 0.9]
    assert np.isnan(unusual_score(np.full(3, NAN))).all()


def test_small_probability_counts_not_difference() -> None:
    score = mislabelled_score(np.array([[0.01, 0.3, 0.29, 0.4], [0.2, 0.6, 0.1, 0.1]]), np.array([0, 0]))
    assert score[0] > score[1] > 0.5
