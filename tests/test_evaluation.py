"""Accuracy, recall and confusions."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score

from ddlcn import DDLCNClassifier, DDLCNError
from ddlcn.evaluation import Confusion, Evaluation, evaluate


@pytest.fixture
def evaluation() -> Evaluation:
    rng = np.random.default_rng(0)
    return Evaluation(np.array(["a", "b", "c", "d"]), rng.integers(0, 3, 50), rng.random((50, 4)), 1.0)


def test_metrics_are_scikit_learns(evaluation: Evaluation) -> None:
    truth, predicted = evaluation.truth, evaluation.predicted
    assert evaluation.accuracy == accuracy_score(truth, predicted)
    recall = recall_score(truth, predicted, labels=[0, 1, 2], average=None)
    np.testing.assert_allclose(evaluation.recall, [*recall, np.nan])  # no image of class d
    low, high = evaluation.interval
    assert low < evaluation.accuracy < high


def test_most_confused(evaluation: Evaluation) -> None:
    counts = evaluation.confusion
    found = evaluation.most_confused(3)
    assert counts.sum() == 50
    assert [times for *_, times in found] == sorted((counts - np.diag(np.diag(counts))).ravel())[:-4:-1]
    perfect = Evaluation(np.array([7, 8]), np.array([0, 1]), np.eye(2), 1.0)
    assert perfect.most_confused() == []
    wrong = Evaluation(np.array([7, 8]), np.array([0, 0]), np.eye(2), 1.0)
    assert wrong.most_confused() == [Confusion(7, 8, 1)]


def test_evaluate() -> None:
    images = np.random.default_rng(0).random((8, 20, 20))
    model = DDLCNClassifier("paper", atoms_per_class=2, deeper_atoms=()).fit(images, [7, 8] * 4)
    tested = evaluate(model, images, np.array(["7", "8"] * 4))  # folders have text for names
    assert tested.truth.tolist() == [0, 1] * 4
    np.testing.assert_array_equal(tested.probabilities, model.predict_proba(images))
    with pytest.raises(DDLCNError, match="'9' is not a class of this model, which was trained on 7, 8: remove"):
        evaluate(model, images, np.array(["9", "8"] * 4))
