"""Accuracy, recall and confusions."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score, recall_score
from sklearn.model_selection import StratifiedKFold

from ddlcn import DDLCNClassifier, DDLCNError
from ddlcn.evaluation import Confusion, CrossValidation, Evaluation, Rejection, cross_validate, evaluate
from ddlcn.execution.progress import listen
from tests.helpers import quick_model, small_digits


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
    with pytest.raises(DDLCNError, match="'1', '2', '3', '4', '5' and 1 more are no classes of this model"):
        evaluate(model, images, np.arange(1, 9))


def test_unknown_images() -> None:
    """They count for no class; the record says how many images were rejected, of both kinds."""
    images, labels = small_digits(12)
    model = quick_model().fit(images, labels)
    blank = [np.zeros((8, 8)), np.full((8, 8), 16.0)]
    plain, found = (evaluate(model, images, labels, unknown, 0.1) for unknown in ((), blank))
    assert plain.rejection is None
    np.testing.assert_allclose(found.probabilities, plain.probabilities)
    alarms = int(model.is_unknown(images, 0.1).sum())
    assert found.rejection == Rejection(0.1, 2, 2, len(images), alarms)
    with pytest.raises(DDLCNError, match=r"false_alarms=0.001 needs 999"):
        evaluate(model, images, labels, blank, 0.001)
    model.calibration_ = None
    assert evaluate(model, images, labels).rejection is None
    with pytest.raises(DDLCNError, match="this model has no calibration"):
        evaluate(model, images, labels, blank)


def test_cross_validate() -> None:
    images, labels = small_digits(per_class=6, n_classes=3)
    images, labels, told = list(images[:-2]), labels[:-2], []  # the last class has four images
    model = quick_model()
    with listen(lambda *each: told.append(each)):
        found = cross_validate(model, images, labels, n_folds=5, seed=1)
    assert told == [("Folds", n, 5) for n in range(6)]
    assert not hasattr(model, "svm_")
    assert found.folds.min() == 0
    assert found.accuracy == pytest.approx(np.average(found.fold_accuracies, weights=np.bincount(found.folds)))
    held_out = found.folds == 3
    trained = quick_model().fit([images[i] for i in np.flatnonzero(~held_out)], labels[~held_out])
    np.testing.assert_array_equal(
        found.probabilities[held_out], trained.predict_proba([images[i] for i in np.flatnonzero(held_out)])
    )
    with pytest.raises(DDLCNError, match="7 folds, but no class has more than 6 images"):
        cross_validate(model, images, labels, n_folds=7)
    with pytest.raises(DDLCNError, match="only one image of '9': cross-validation needs two images per class"):
        cross_validate(model, images, np.append(labels[:-1], 9), n_folds=2)


def test_cross_validate_takes_what_fit_takes() -> None:
    """Lists of labels, and the rows of a matrix."""
    images, labels = small_digits(per_class=4, n_classes=3)
    expected = cross_validate(quick_model(), images, labels, n_folds=2).probabilities
    found = cross_validate(quick_model(), list(images), labels.tolist(), n_folds=2)
    np.testing.assert_array_equal(found.probabilities, expected)
    found = cross_validate(quick_model(image_shape=(8, 8)), images.reshape(12, -1), labels, n_folds=2)
    np.testing.assert_array_equal(found.probabilities, expected)
    with pytest.raises(DDLCNError, match="12 images but 11 labels"):
        cross_validate(quick_model(), images, labels[1:], n_folds=2)


def test_interval_of_cross_validation_covers_the_accuracy() -> None:
    """In a simulation: of the model that is trained on all images, in about 19 of 20 cases or more."""
    rng, covered, naive, times = np.random.default_rng(0), 0, 0, 150

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) % 3
        X = rng.normal(size=(n, 10))
        X[np.arange(n), y] += 1.5
        return X, y

    for seed in range(times):
        (X, y), (others, truth), folds = draw(60), draw(1000), np.empty(60, int)
        probabilities = np.empty((60, 3))
        for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)):
            folds[test] = fold
            probabilities[test] = LinearDiscriminantAnalysis().fit(X[train], y[train]).predict_proba(X[test])
        result = CrossValidation(np.arange(3), y, probabilities, 0.0, folds)
        accuracy = LinearDiscriminantAnalysis().fit(X, y).score(others, truth)
        covered += result.interval[0] <= accuracy <= result.interval[1]
        low, high = Evaluation(np.arange(3), y, probabilities, 0.0).interval
        naive += low <= accuracy <= high
    assert covered / times > 0.94
    assert naive / times < 0.92  # folds are no independent samples


def test_interval_has_a_width() -> None:
    perfect = CrossValidation(np.arange(2), np.array([0, 1] * 4), np.eye(2)[[0, 1] * 4], 0.0, np.repeat([0, 1], 4))
    assert perfect.fold_accuracies == [1, 1]
    low, high = perfect.interval
    assert low < 0.7
    assert high == 1
