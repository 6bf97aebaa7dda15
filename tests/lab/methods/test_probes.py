"""Linear probes: features against onnxruntime and Pillow alone, C against scikit-learn's cross-validation."""

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.svm import LinearSVC

from ddlcn.descriptors.efficientnet import onnx_model
from ddlcn.linear.calibration import calibrate
from ddlcn.linear.svm import C_GRID as SVM_GRID
from ddlcn_lab.methods.probes import C_GRID, NETWORK, BackboneMean, LogisticProbe
from ddlcn_lab.methods.registry import get_method

onnxruntime = pytest.importorskip("onnxruntime", reason="pip install 'ddlcn[backbone]'")


def test_features_by_definition():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, shape, np.uint8) for shape in ((60, 90, 3), (224, 224), (10, 7, 3))]
    session = onnxruntime.InferenceSession(onnx_model(NETWORK), providers=["CPUExecutionProvider"])
    rows = BackboneMean(n_jobs=2).fit_transform(images)
    assert rows.shape == (3, 1280)
    for image, row in zip(images, rows, strict=True):
        square = Image.fromarray(image).convert("RGB").resize((224, 224), Image.Resampling.BICUBIC)
        pixels = (np.asarray(square, np.float32) - 127) / 128
        (maps,) = session.run(["head"], {"input": pixels.transpose(2, 0, 1)[None]})
        np.testing.assert_allclose(row, maps[0].mean(axis=(1, 2)), atol=1e-4)


def test_logistic_C_by_cross_validation(digits):
    X, y, others, _ = digits
    probe, folds = LogisticProbe(random_state=3).fit(X, y), StratifiedKFold(3, shuffle=True, random_state=3)
    shares = [cross_val_score(LogisticRegression(C=C, max_iter=1000), X, y, cv=folds).mean() for C in C_GRID]
    chosen = C_GRID[int(np.argmax(shares))]
    assert chosen == probe.C_
    expected = LogisticRegression(C=probe.C_, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(probe.decision_function(others), expected.decision_function(others), atol=1e-6)


def test_few_rows_per_class():
    """A class with one row always trains; with one row per class C is 1."""
    y = np.array([0, 0, 0, 1, 1, 2])
    X = 5 * np.eye(3)[y]
    assert LogisticProbe().fit(X, y).predict(X).tolist() == y.tolist()
    assert LogisticProbe().fit(X[[0, 3, 5]], [0, 1, 2]).C_ == 1


def test_svm_C_by_cross_validation(pictures):
    """By scikit-learn's SVM and other folds, no C is clearly more likely than the one chosen."""
    images, y, *_ = pictures
    means, unit, svm = (step for _, step in get_method("probe-svm").make(None, 0, 0, None).fit(images, y).steps)
    rows = means.transform(images)
    X, likelihoods = rows / np.linalg.norm(rows, axis=1)[:, None], {}
    np.testing.assert_allclose(unit.transform(rows), X, rtol=1e-5)
    for C in SVM_GRID:
        folds, model = StratifiedKFold(3, shuffle=True, random_state=0), LinearSVC(C=C, max_iter=100_000)
        scores = cross_val_predict(model, X, y, cv=folds, method="decision_function")
        likelihoods[C] = calibrate(scores, y).log_likelihood.mean()
    assert likelihoods[svm.C_] > max(likelihoods.values()) - 0.05
