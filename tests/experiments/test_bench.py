"""What a bench computes: the same as the estimator would, shared or not."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from ddlcn import DDLCNClassifier, deep
from ddlcn.baselines.registry import METHODS, Method
from ddlcn.experiments.bench import bench
from ddlcn.experiments.datasets import load_dataset
from ddlcn.experiments.grid import make_grid
from ddlcn.experiments.protocols import draw_split
from ddlcn.experiments.run import Run
from ddlcn.images import ImageSet


def run(path, **asked):
    for _ in bench(make_grid("digits", **asked), path):
        pass
    return Run(path).rows()


def test_rows_equal_a_plain_fit(tmp_path):
    digits = load_dataset("digits")
    for row in run(tmp_path, methods="ddlcn,ddlcn-1", settings="3-2", t="3,6", splits=1):
        train, test, dictionary = draw_split(digits, row["t"], 3, 0)
        model = DDLCNClassifier(None, 2, (64,) if row["method"] == "ddlcn" else (), preset="paper")
        model.learn(digits.images[dictionary], digits.target[dictionary])
        model.train(model.transform(digits.images[train]), digits.target[train])
        np.testing.assert_array_equal(row["predicted"], model.predict(digits.images[test]))


def test_rows_that_share_dictionaries_choose_for_themselves(tmp_path, monkeypatch):
    digits = load_dataset("digits")
    monkeypatch.setattr(deep, "choose", lambda judge, *_: float(len(judge.sample) > 40))  # of 3 a class, or 6
    rows = run(tmp_path, methods="ddlcn-best:copies=none", settings="3-2", t="3,6", splits=1)
    for row, length in zip(rows, (0.0, 1.0), strict=True):
        train, test, dictionary = draw_split(digits, row["t"], 3, 0)
        model = DDLCNClassifier(None, 2, deep=length)
        model.learn(digits.images[dictionary], digits.target[dictionary])
        model.train(model.transform(digits.images[train]), digits.target[train])
        np.testing.assert_array_equal(row["predicted"], model.predict(digits.images[test]))
        assert row["deep"] == length


def test_all_training_images_is_the_estimators_own_fit(tmp_path):
    digits = load_dataset("digits")
    (row,) = run(tmp_path, settings="A-2", t="5", splits=1)
    train, test, _ = draw_split(digits, 5, None, 0)
    model = DDLCNClassifier(None, 2, preset="paper").fit(digits.images[train], digits.target[train])
    np.testing.assert_array_equal(row["predicted"], model.predict(digits.images[test]))


class Majority(ClassifierMixin, BaseEstimator):
    """Answers the commonest label."""

    def fit(self, images, y):
        self.answer_ = np.bincount(y).argmax()
        return self

    def predict(self, images):
        return np.full(len(images), self.answer_)


def test_any_estimator_on_images_will_do(tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "majority", Method("", lambda p, q, seed, n_jobs: Majority(), heeds=""))
    (row,) = run(tmp_path, methods="majority", t="5", splits=1)
    assert row["accuracy"] == pytest.approx(0.1, abs=0.02)
    assert set(row["seconds"]) == {"fit", "predict"}


def test_released_runs(tmp_path):
    (row,) = run(tmp_path, methods="ddlcn-released", settings="5-5", t="20", splits=1)
    assert row["accuracy"] > 0.5


def test_one_image_a_class_is_no_reason_to_warn(tmp_path, monkeypatch):
    monkeypatch.setattr("ddlcn.experiments.bench.load_dataset", lambda name, data: thirty_people())
    rows = run(tmp_path, settings="1-1", t="1,2", splits=1)
    assert [row["images"]["dictionary"] for row in rows] == [30, 30]


def thirty_people():
    labels = np.repeat(np.arange(30), 3)
    return ImageSet.of(np.random.default_rng(0).random((len(labels), 16, 16)), labels)
