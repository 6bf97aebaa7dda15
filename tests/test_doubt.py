"""A second look at images in doubt: who is looked at, what is made of it, and that it is explained."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, doubt
from ddlcn.copies import KINDS, Change
from tests.test_evidence import assert_adds_up

DIGITS = load_digits()
SETTINGS = {"atoms_per_class": 2, "deeper_atoms": (8,), "C": 1.0, "deep": 0.5, "upright": False}


def fitted(n_class=10, copies="bent", **settings):
    of_classes = DIGITS.target < n_class
    images, labels = DIGITS.images[of_classes], DIGITS.target[of_classes]
    return DDLCNClassifier(**SETTINGS | settings, copies=copies).fit(images[:60], labels[:60]), images[60:260]


def first_look(model, images):
    return model.svm_.decision_function(model.transform(images))


def gaps(scores):
    """Between the highest score and the next; of two classes, between the score and its negative."""
    if scores.ndim == 1:
        return np.abs(scores)
    return np.array([np.diff(sorted(line)[-2:])[0] for line in scores])


def bent(model, image, change):
    """Scores of a copy of one image."""
    seen = model.descriptor_.transform(image, model.value_range_, change.of)
    return model.svm_.decision_function(model.network_.rows([seen]))[0]


@pytest.mark.parametrize("n_class", [2, 10])
def test_images_in_doubt_get_the_mean_of_all_looks_and_others_stay(n_class):
    model, images = fitted(n_class)
    before = first_look(model, images)
    after = model.decision_function(images)
    unsure = gaps(before) < 1
    assert 0 < unsure.sum() < len(images)
    assert_array_equal(after[~unsure], before[~unsure])
    for n in np.flatnonzero(unsure)[:5]:
        looks = [bent(model, images[n], Change(bend=1000 + k)) for k in (1, 2, 3, 4)]
        assert np.ptp(looks, axis=0).max() > 1e-3
        assert_allclose(after[n], (2 * before[n] + np.sum(looks, axis=0)) / 6, atol=1e-5)


def test_bends_of_the_second_look_trained_nobody():
    looks = doubt.looks("bent")
    assert looks[0][0] == Change()
    assert not {change for change, _ in looks[1:]} & set(KINDS["bent"])
    assert sum(weight for _, weight in looks) == pytest.approx(1)


@pytest.mark.parametrize("copies", ["none", "moved", "mirrored"])
def test_other_models_look_once(copies):
    model, images = fitted(copies=copies)
    assert_array_equal(model.decision_function(images), first_look(model, images))


def test_labels_and_probabilities_are_those_of_all_looks():
    model, images = fitted()
    scores = model.decision_function(images)
    assert_array_equal(model.predict(images), scores.argmax(axis=1))
    assert_allclose(model.predict_proba(images), model.svm_.probabilities(scores))


def test_rows_of_a_matrix_are_looked_at_again_too():
    model, images = fitted()
    by_rows = DDLCNClassifier(**SETTINGS, copies="bent", image_shape=(8, 8))
    by_rows.fit(DIGITS.images[:60].reshape(60, -1), DIGITS.target[:60])
    found = by_rows.decision_function(images.reshape(len(images), -1))
    assert_array_equal(found, model.decision_function(images))
    assert_array_equal(by_rows.look_again(images.reshape(len(images), -1), first_look(model, images)), found)


def test_threads_lists_and_single_images_are_looked_at_alike():
    model, images = fitted()
    found = model.decision_function(images)
    assert_array_equal(model.set_params(n_jobs=2).decision_function(list(images)), found)
    unsure = np.flatnonzero(gaps(first_look(model, images)) < 1)[0]
    assert_allclose(model.decision_function(images[unsure : unsure + 1])[0], found[unsure], atol=1e-5)


@pytest.mark.parametrize("n_class", [2, 10])
def test_evidence_of_all_looks_adds_up_to_the_score(n_class):
    model, images = fitted(n_class)
    order = np.argsort(gaps(first_look(model, images)))
    for n, looks in ((order[0], 5), (order[-1], 1)):
        label = model.predict(images[n : n + 1])[0]
        evidence = model.explain(images[n])
        assert evidence.label == label
        assert_adds_up(model, evidence, label, images[n])
        patches = len(model.descriptor_.transform(images[n], (0, 16)).values)
        assert len(evidence.patches) == len(evidence.descriptors.values) == looks * patches
        for atom in np.unique(evidence.atoms)[:20]:
            fired = evidence.fired_by(atom)  # a place counts once, however often it was looked at
            places = [(*evidence.descriptors.positions[i], evidence.descriptors.sizes[i]) for i in fired]
            assert len(set(places)) == len(places)
        assert evidence.map().sum() == pytest.approx(evidence.score - evidence.bias, abs=1e-5)


def test_a_model_file_looks_again_too(tmp_path):
    model, images = fitted()
    model.save(tmp_path / "m.ddlcn")
    assert_array_equal(
        DDLCNClassifier.load(tmp_path / "m.ddlcn").decision_function(images), model.decision_function(images)
    )
