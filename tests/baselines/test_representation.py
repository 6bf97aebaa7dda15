import numpy as np
import pytest
from sklearn.linear_model import Lasso

from ddlcn.baselines.inputs import RandomFaces
from ddlcn.baselines.representation import RepresentationClassifier
from ddlcn.layers.coding import LLCCoder


def test_src_scores_follow_the_formula(digits):
    X, y, Z, _ = digits
    model = RepresentationClassifier().fit(X, y)
    D, rows = X / np.linalg.norm(X, axis=1, keepdims=True), Z[:5] / np.linalg.norm(Z[:5], axis=1)[:, None]
    order = np.argsort(y, kind="stable")  # any order of samples gives the same scores
    D, own = D[order], y[order]
    for row, scores in zip(rows, model.decision_function(Z[:5]), strict=True):
        lasso = Lasso(alpha=0.003 / D.shape[1], fit_intercept=False, tol=1e-9, max_iter=100_000)
        x = lasso.fit(D.T, row).coef_
        expected = [-np.sum((row - x[own == c] @ D[own == c]) ** 2) for c in range(10)]
        np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_so_many_of_each_class_are_kept(digits):
    X, y, *_ = digits
    model = RepresentationClassifier(LLCCoder(5), images_per_class=4).fit(X, y)
    assert np.bincount(model.owners_).tolist() == [4] * 10


def test_src_knows_digits(digits):
    X, y, Z, t = digits
    assert RepresentationClassifier().fit(X, y).score(Z, t) > 0.9


@pytest.mark.data
def test_src_on_extended_yale_b_is_as_published(data_dir):
    from ddlcn.experiments.datasets import load_dataset

    train, test = load_dataset("yaleb", data_dir).split(0.5, seed=0)
    faces = RandomFaces(longest_side=96).fit(train.images)
    model = RepresentationClassifier().fit(faces.transform(train.images), train.target)
    assert abs(model.score(faces.transform(test.images), test.target) - 0.972) < 0.015
