"""What a bench computes: the same as the estimator, with or without a cache."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score

from ddlcn_lab.datasets import load_dataset
from ddlcn_lab.grid import make_grid
from ddlcn_lab.methods.registry import METHODS, Method, get_method
from ddlcn_lab.protocols import draw_split
from ddlcn_lab.run_folder import Run
from ddlcn_lab.runner import bench, fit_with_leak


def run(path, dataset, **grid):
    for _ in bench(make_grid(dataset, **grid), path):
        pass
    return Run(path).rows()


def test_rows_equal_fit(tmp_path, few_digits):
    digits = load_dataset(few_digits)
    methods = "ddlcn,ddlcn-1,ddlcn:C=10.0,ddlcn-best:augmentation=none"
    for row in run(tmp_path, few_digits, methods=methods, settings="3-2", t="3,6", splits=1):
        train, test = draw_split(digits, row["t"], 0)
        model = get_method(row["method"]).make(3, 2, 0, None).fit(digits.images[train], digits.target[train])
        np.testing.assert_array_equal(row["predicted"], model.predict(digits.images[test]))
        assert row["selection"]["C"] == model.svm_.C_
        assert row["layers"] == (1 if row["method"] == "ddlcn-1" else 2)
        truth = digits.target[test]
        assert row["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, row["predicted"]))


def test_leak(tmp_path, few_digits):
    """Dictionary images are drawn from all images, those of the test set included."""
    rows = run(tmp_path, few_digits, settings="A-2", t="3,6", splits=1, leak=True)
    assert [row["leak"] for row in rows] == [False, False, True, True]
    digits = load_dataset(few_digits)
    train, test = draw_split(digits, 6, 0)
    model = get_method("ddlcn").make(None, 2, 0, None)
    fit_with_leak(model, digits.images, digits.target, digits.images[train], digits.target[train], None)
    np.testing.assert_array_equal(rows[-1]["predicted"], model.predict(digits.images[test]))


def test_leak_of_training_images_is_fit(tmp_path, digits):
    """If the dictionary images are the training images, there is no leak."""
    X, y = digits[0].reshape(-1, 8, 8), digits[1]
    model, plain = (get_method("ddlcn").make(None, 2, 0, None) for _ in range(2))
    fit_with_leak(model, X, y, X, y, tmp_path)
    test = digits[2].reshape(-1, 8, 8)
    np.testing.assert_array_equal(model.predict(test), plain.fit(X, y).predict(test))


def test_any_estimator(tmp_path, few_digits, monkeypatch):
    monkeypatch.setitem(METHODS, "majority", Method("", lambda *_: DummyClassifier(), depends_on=""))
    (row,) = run(tmp_path, few_digits, methods="majority", t="5", splits=1)
    assert row["accuracy"] == pytest.approx(1 / 3, abs=0.05)
    assert set(row["seconds"]) == {"fit", "predict"}
    assert row["selection"] == {}


def test_single_image_per_class(tmp_path):
    """Of many classes: scikit-learn would warn that this looks like regression."""
    labels = np.repeat(np.arange(30), 3)
    np.savez(tmp_path / "x.npz", images=np.random.default_rng(0).random((len(labels), 16, 16)), labels=labels)
    rows = run(tmp_path / "run", f"folder:{tmp_path / 'x.npz'}", settings="1-1", t="1,2", splits=1)
    assert [row["images"] for row in rows] == [{"train": 30, "test": 60}, {"train": 60, "test": 30}]
