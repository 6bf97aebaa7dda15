"""Conformal prediction: coverage by simulation, p-values by counting, errors that say what is needed."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax

from ddlcn import DDLCNClassifier, DDLCNError, presets
from ddlcn.conformal import Conformal, image_facts
from tests.helpers import quick_model, small_digits

RNG = np.random.default_rng(0)
CHANNELS = presets.best().channels[0:3:2]  # sift and color


def drawn(n, n_classes=4, hard=1.0):
    """Log-probabilities of images, the numbers of their classes, and three facts."""
    y = RNG.integers(n_classes, size=n)
    scores = np.eye(n_classes)[y] + hard * RNG.normal(size=(n, n_classes))
    return log_softmax(3 * scores, axis=1), y, RNG.normal(3, [0.1, 0.2, 0.01], size=(n, 3))


def new_digits():
    """Digits that the model was not trained on."""
    images, labels = small_digits(17)
    return np.concatenate([images[labels == c][12:] for c in range(4)])


@pytest.fixture(scope="module")
def model():
    return quick_model().fit(*small_digits(12))


# ------------------------------------------------------------------------------------------------ p-values


@pytest.mark.parametrize("conditional", [False, True])
def test_p_values_by_counting(conditional):
    logs, y, active = drawn(30)
    held_out = Conformal.from_held_out(logs, y, active)
    known, new = (held_out.conformity(*each) for each in ((logs, active), drawn(5)[::2]))
    found = held_out.p_values(new, conditional)
    for image in range(5):
        for c in range(4):
            own = [own[k] for own, k in zip(known, y, strict=True) if k == c or not conditional]
            truth = (1 + sum(each <= new[image, c] for each in own)) / (1 + len(own))
            assert_allclose(found[image, c], truth)


def test_conformity_by_its_formula():
    """The log-probability, less ten for each unit of distance beyond the usual one."""
    logs, y, facts = drawn(200)
    facts[:, 1] += 3 * facts[:, 0]  # correlated
    held_out = Conformal.from_held_out(logs, y, facts)
    new = RNG.normal(3, 2, size=(50, 3))
    centred = new - facts.mean(axis=0)
    distances = np.sqrt(np.einsum("ij,jk,ik->i", centred, np.linalg.inv(np.cov(facts.T)), centred))
    assert_allclose(held_out.distances(new) * held_out.usual, distances, rtol=0.15)  # covariance is shrunk
    beyond = np.maximum(held_out.distances(new) - 1, 0) * held_out.usual
    assert_allclose(held_out.conformity(logs[:50], new), logs[:50] - 10 * beyond[:, None], rtol=1e-4)
    assert (held_out.distances(facts) <= 1).mean() >= 0.97


@pytest.mark.parametrize("hard", [0.2, 1.0])
@pytest.mark.parametrize("conditional", [False, True])
def test_coverage(hard, conditional):
    """Over many calibrations, the true label has a p-value above α in at least 1 − α of cases, and not in all."""
    shares = []
    for _ in range(120):
        held_out = Conformal.from_held_out(*drawn(100, hard=hard))
        logs, y, active = drawn(200, hard=hard)
        found = held_out.p_values(held_out.conformity(logs, active), conditional)[np.arange(200), y] > 0.1
        shares.append([found[y == c].mean() for c in range(4)] if conditional else [found.mean()])
    coverage = np.mean(shares, axis=0)
    assert (coverage >= 0.89).all()
    assert (coverage <= (0.95 if conditional else 0.92)).all()


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("n", [20, 100])
def test_false_alarms(n, skewed):
    """Of images like the held-out ones, a share of at most about α has a novelty of 1 − α."""
    shares = []
    for _ in range(120):
        known, (logs, _, facts) = drawn(n), drawn(200)
        if skewed:
            known, facts = (*known[:2], RNG.lognormal(size=(n, 7))), RNG.lognormal(size=(200, 7))
        held_out = Conformal.from_held_out(*known)
        shares.append(np.mean(held_out.novelty(held_out.conformity(logs, facts)) >= 0.95))
    assert 0.03 <= np.mean(shares) <= (0.08 if n < 100 else 0.065)


def test_novelty_by_counting():
    """Between the novelties that two neighbours among the held-out images bound, and in the order of entropies."""
    logs, y, facts = drawn(30)
    held_out, (new, _, usual) = Conformal.from_held_out(logs, y, facts), drawn(200)
    usual[:] = facts.mean(axis=0)
    known, entropies = (-(np.exp(each) * each).sum(axis=1) for each in (logs, new))
    found = held_out.novelty(held_out.conformity(new, usual))
    below = np.array([sum(known > entropy) for entropy in entropies])
    assert (found >= 1 - (1 + below) / 31 - 1e-6).all()
    assert (found <= 1 - below / 31 + 1e-6).all()
    assert_array_equal(np.argsort(found), np.argsort(entropies))


def test_novelty_of_strange_images():
    """No likely class, a channel that is silent or too active, other scores; and why, in words."""
    held_out = Conformal.from_held_out(*drawn(100, hard=0.2))
    sure = [0.97, 0.01, 0.01, 0.01]
    logs = np.log([sure, [0.25] * 4, sure, sure, sure])
    facts = np.array([[3, 3, 3], [3, 3, 3], [-6.9, 3, 3], [3, 9.0, 3], [3, 3, 2]])
    conformity = held_out.conformity(logs, facts)
    found = held_out.novelty(conformity)
    assert found[0] < 0.95
    assert (found[1:] >= 0.95).all()
    assert (found[2:] > 1 - 1 / 101).all()
    assert not (held_out.p_values(conformity)[1:] > 0.05).any()
    assert held_out.reasons(facts, CHANNELS)[1:] == [
        "no class is likely enough",
        "channel sift has fewer active codes than they usually have",
        "channel color has more active codes than they usually have",
        "its scores over all classes are unlike theirs",
    ]


def test_few_and_equal_images():
    """One image, or images without any spread, give finite numbers."""
    for n in (1, 2, 5):
        logs, y, _ = drawn(n)
        held_out = Conformal.from_held_out(logs, y, np.full((n, 3), 2.0))
        conformity = held_out.conformity(logs, np.full((n, 3), 2.0))
        assert_allclose(conformity, logs, atol=1e-5)
        assert np.isfinite(held_out.distances(np.full((1, 3), 9.0))).all()


def test_facts_about_images(model):
    """Ratios of norms of each block, where a ratio of zero counts as 0.001; and the mean score."""
    encoder, images = model.encoder_, [*small_digits(1)[0], np.zeros((8, 8))]
    rows = encoder.transform(images)
    scores = model.svm_.scores(rows)
    found = image_facts(encoder, rows, scores)
    for channel, own in enumerate(encoder.slices):
        blocks = rows.toarray()[:-1, own].astype(np.float64)
        truth = np.log(np.abs(blocks).sum(axis=1) / np.linalg.norm(blocks, axis=1))
        assert_allclose(found[:-1, channel], truth, rtol=1e-4)
    assert_allclose(found[-1, 1], np.log(1e-3))  # means over a blank image are zero
    assert_allclose(found[:, 2], scores.mean(axis=1))
    sift, own = encoder.channels[0], encoder.slices[0]
    parts = rows.toarray()[:-1, own].astype(np.float64).reshape(len(images) - 1, sift.pooling.n_cells, -1)
    whole, every = np.linalg.norm(parts[:, 0], axis=1), np.linalg.norm(parts, axis=(1, 2))
    assert_allclose(found[:-1, 3], np.log(whole / every), rtol=1e-4)
    assert found.shape[1] == 4  # a grid has no cell for the whole image


def test_grey_image_among_colour_images():
    """The last fact is the log share of coloured atoms in the maxima over the whole image."""
    images, labels = small_digits(12)
    ink = np.array([255, 40, 90]) * RNG.uniform(0.6, 1, (len(images), 1, 1, 3)) / 16
    colored = (images[..., None] * ink).astype(np.uint8)
    model = quick_model(channels=[each.with_params(weight=1.0) for each in CHANNELS]).fit(colored, labels)
    color = model.encoder_["color"]
    grey = np.repeat(colored[:4].mean(axis=3, keepdims=True), 3, axis=3).astype(np.uint8)
    every = np.concatenate([colored[:4], grey])
    rows = model.transform(every)
    facts = image_facts(model.encoder_, rows, model.svm_.scores(rows))
    start, n = model.encoder_.slices[1].start, len(color.dictionaries[0])
    maxima = np.abs(rows.toarray()[:, start : start + n])
    chroma = np.square(color.dictionaries[0]).reshape(n, 2, 16, 3)[:, 0, :, :2].sum(axis=(1, 2))
    share = maxima[:, chroma > 0.5].sum(axis=1) / maxima.sum(axis=1)
    assert_allclose(facts[:, -1], np.log(np.maximum(share, 1e-3)), rtol=1e-3)
    assert facts[4:, -1].max() < facts[:4, -1].min()
    strange = facts[:1].copy()
    strange[0, -1] = -50
    assert model.calibration_.reasons(strange, model.encoder_.channels) == ["it has less colour than they usually have"]


def test_repetition_is_a_reason():
    logs, y, facts = drawn(100)
    every = np.column_stack([facts, RNG.normal(size=(100, 2))])
    held_out, strange = Conformal.from_held_out(logs, y, every), every[:2].copy()
    strange[0, 3], strange[1, 4] = -20, 20
    assert held_out.reasons(strange, CHANNELS) == [
        "codes of channel sift repeat more over the image than theirs",
        "codes of channel color repeat less over the image than theirs",
    ]


def test_calibration_with_fewer_facts():
    """The first model files know nothing of repetition and colour: the first facts count, the others are ignored."""
    logs, y, facts = drawn(50)
    held_out = Conformal.from_held_out(logs, y, facts)
    assert_array_equal(held_out.distances(np.column_stack([facts, facts])), held_out.distances(facts))


def test_calibration_by_largest_conformity(model, tmp_path):
    """The first model files have the largest conformity of each image in place of the expected one."""
    old, images = copy(model), new_digits()
    old.calibration_ = replace(model.calibration_, expected=None, largest=model.calibration_.own)
    old.save(tmp_path / "model.ddlcn")
    loaded = DDLCNClassifier.load(tmp_path / "model.ddlcn")
    assert_array_equal(loaded.novelty(images), old.novelty(images))
    largest, own = loaded.predict_log_proba(images).max(axis=1), model.calibration_.own
    assert_allclose(loaded.novelty(images)[largest < own.min()], 1, atol=1 / len(own))
    assert loaded.is_unknown([np.zeros((8, 8))], false_alarms=0.1).all()


# -------------------------------------------------------------------------------------------------- models


def test_methods_of_a_model(model):
    images = new_digits()
    facts = image_facts(model.encoder_, model.transform(images), model.decision_function(images))
    conformity = model.calibration_.conformity(model.predict_log_proba(images), facts)
    novelty = model.novelty(images)
    assert_array_equal(novelty, model.calibration_.novelty(conformity))
    assert_array_equal(model.is_unknown(images, false_alarms=0.2), novelty >= 0.8)
    sets = model.predict_set(images, coverage=0.8)
    assert_array_equal(sets, model.calibration_.p_values(conformity) > 0.2)
    assert sets.shape == (len(images), len(model.classes_))
    assert (model.predict_set(images, coverage=0.9) >= sets).all()
    probabilities, p_values, found, reasons = model.assess(images)
    assert_allclose(probabilities, model.predict_proba(images), rtol=1e-6)
    assert_array_equal(p_values > 0.2, sets)
    assert_array_equal(found, novelty)
    assert len(reasons) == len(images)
    blank_and_noise = [np.zeros((8, 8)), RNG.uniform(0, 16, (64, 64))]
    assert model.is_unknown(blank_and_noise, false_alarms=0.1).all()


def test_two_classes():
    images, labels = small_digits(20)
    some = labels < 2
    model = quick_model().fit(images[some], labels[some])
    sets = model.predict_set(images, coverage=0.8)
    assert sets.shape == (len(images), 2)
    assert sets[some][np.arange(some.sum()), labels[some]].mean() >= 0.6
    assert model.novelty(images).shape == (len(images),)


def test_held_out_images_taught_nothing():
    """Calibration rests on the third of the images that no dictionary was learnt from, by the caller's numbers."""
    images, labels = small_digits(12)
    model = quick_model(n_jobs=2).fit(images, labels)
    rows, scores = model.held_out_
    assert len(rows) == len(scores) == len(model.calibration_.own) == len(labels) // 3
    own = model.svm_.log_probabilities(scores)[np.arange(len(rows)), np.searchsorted(model.classes_, labels[rows])]
    assert (np.sort(model.calibration_.own) <= np.sort(own) + 1e-5).all()  # less what is unusual
    assert (np.diff(rows) > 0).all()
    backwards = quick_model().fit(images[::-1], labels[::-1])
    assert_array_equal(np.sort(len(labels) - 1 - backwards.held_out_.rows), np.sort(rows))


@pytest.mark.parametrize("method", ["novelty", "is_unknown", "predict_set"])
def test_model_without_calibration(method):
    images, labels = small_digits(3)
    model = DDLCNClassifier(preset="paper", images_per_class=None, atoms_per_class=2).fit(images, labels)
    with pytest.raises(DDLCNError, match=r"no calibration.*images_per_class"):
        getattr(model, method)(images)
    assert model.calibration_ is None
    assert model.assess(images)[1:] == (None, None, None)


def test_too_few_images(model):
    images = small_digits(1)[0]
    with pytest.raises(DDLCNError, match=r"coverage=0.99 needs 99 held-out training images in all, and this model has"):
        model.predict_set(images, coverage=0.99)
    with pytest.raises(DDLCNError, match="needs 19 held-out training images in every class"):
        model.predict_set(images, class_conditional=True)
    with pytest.raises(DDLCNError, match=r"false_alarms=0.001 needs 999"):
        model.is_unknown(images, false_alarms=0.001)
    with pytest.raises(DDLCNError, match=r"coverage=0.999 needs 999 .* in every class, .*: set it to at most 0"):
        model.predict_set(images, coverage=0.999, class_conditional=True)
    for wrong in (0, 1, -0.5, 95):
        with pytest.raises(DDLCNError, match="must be between 0 and 1"):
            model.predict_set(images, coverage=wrong)


@pytest.mark.parametrize(("name", "wrong", "worse"), [("false_alarms", 0.001, -0.001), ("coverage", 0.999, 0.001)])
def test_limit_that_an_error_names(model, name, wrong, worse):
    with pytest.raises(DDLCNError, match="set it to at") as error:
        model.check_calibration(**{name: wrong})
    limit = float(str(error.value).split()[-1])
    model.check_calibration(**{name: limit})
    with pytest.raises(DDLCNError, match="set it to at"):
        model.check_calibration(**{name: limit + worse})


def test_saved_calibration(model, tmp_path):
    model.save(tmp_path / "model.ddlcn")
    loaded, images = DDLCNClassifier.load(tmp_path / "model.ddlcn"), new_digits()
    assert_array_equal(loaded.novelty(images), model.novelty(images))
    assert_array_equal(loaded.predict_set(images, 0.8), model.predict_set(images, 0.8))
    assert loaded.held_out_ is None
