import numpy as np
from sklearn.linear_model import Lasso

from ddlcn.layers.coding import LLCCoder
from ddlcn_lab.methods.representation import RepresentationClassifier


def test_scores_by_definition(digits):
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


def test_images_per_class(digits):
    X, y, *_ = digits
    model = RepresentationClassifier(LLCCoder(5), images_per_class=4).fit(X, y)
    assert np.bincount(model.atom_classes_).tolist() == [4] * 10
