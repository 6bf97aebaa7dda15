import numpy as np
from sklearn.linear_model import Lasso

from ddlcn.layers.coding import LLCCoder
from ddlcn_lab.methods.representation import RepresentationClassifier, RowCodes


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


def test_row_codes(digits):
    X, y, Z, _ = digits
    drawn, centres = (RowCodes(LLCCoder(5), 2, centres=centres).fit(X, y) for centres in (False, True))
    rows = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    np.testing.assert_array_equal(drawn.transform(Z), LLCCoder(5).encode(rows, drawn.atoms_).dense(20))
    assert drawn.atoms_.shape == centres.atoms_.shape == (20, 64)
    errors = [np.linalg.norm(rows - model.transform(Z) @ model.atoms_) for model in (centres, drawn)]
    assert errors[0] < errors[1]  # centres are nearer to most rows than two of these
    np.testing.assert_allclose(np.linalg.norm(centres.atoms_, axis=1), 1)
