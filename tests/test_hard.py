"""Hard images of very many, and figures that stand upright: who is picked, what is chosen, what stays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, hard
from ddlcn.held_out import Judge
from ddlcn.layers.rows import MemoryRows
from ddlcn.layers.svm import LinearSVM
from ddlcn.layers.upright import figure_of, filling, stand, typical
from tests.test_evidence import assert_adds_up

SETTINGS = {"atoms_per_class": 2, "deeper_atoms": (8,), "C": 1.0}
DIGITS = load_digits(n_class=4)
IMAGES, LABELS = np.pad(DIGITS.images[:240], ((0, 0), (2, 2), (2, 2))), DIGITS.target[:240]
UNSEEN, TRUTH = np.pad(DIGITS.images[240:340], ((0, 0), (2, 2), (2, 2))), DIGITS.target[240:340]


@pytest.fixture
def few(monkeypatch):
    """As if 200 images were very many."""
    for name, value in {"MANY": 200, "_LEAST": 60, "_SHARE": 1 / 8, "_FULL": 5}.items():
        monkeypatch.setattr(hard, name, value)


# ------------------------------------------------------------------------------------------------- picking


def clouds(n=400, n_classes=3, seed=0):
    """Points about the corners of a simplex, as rows of unit length, and their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    points = 3 * np.eye(n_classes, 8)[codes] + rng.normal(size=(n, 8))
    return csr_array((points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)), codes


def margins(rows, codes):
    """The least margin of each row, by a machine that every third of each class has taught."""
    teaches = np.zeros(len(codes), bool)
    teaches[np.argsort(codes, kind="stable")[::3]] = True
    scores = LinearSVM(C=1.0, tol=1e-8).fit(rows[teaches], codes[teaches]).decision_function(rows)
    scores = scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)
    signs = np.where(np.arange(codes.max() + 1) == codes[:, None], 1, -1)
    return (signs * scores).min(axis=1)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_images_of_small_margin_are_picked(n_classes):
    rows, codes = clouds(n_classes=n_classes)
    picked, by_hand = hard.pick(MemoryRows(rows), codes, 0, 1), margins(rows, codes)
    assert (np.diff(picked) > 0).all()
    assert 60 <= len(picked) <= 60 + 5 * n_classes
    ranks = np.argsort(np.argsort(by_hand))
    assert np.isin(np.flatnonzero(ranks < 50), picked).all()
    assert (ranks[picked] < 70).sum() >= 60
    wrong = np.flatnonzero(by_hand < 0)
    assert 0 < len(wrong) <= 200
    assert np.isin(wrong[np.argsort(by_hand[wrong])][:40], picked).all()


@pytest.mark.usefixtures("few")
def test_the_share_of_many(monkeypatch):
    rows, codes = clouds()
    monkeypatch.setattr(hard, "_SHARE", 0.5)
    assert 200 <= len(hard.pick(MemoryRows(rows), codes, 0, 1)) <= 200 + 15
    monkeypatch.setattr(hard, "_LEAST", 1000)
    assert_array_equal(hard.pick(MemoryRows(rows), codes, 0, 1), np.arange(400))


@pytest.mark.usefixtures("few")
def test_each_class_keeps_some_of_its_hardest(monkeypatch):
    """One class is easy: far from the others, and alone."""
    rows, codes = clouds()
    points = rows.toarray()
    easy = codes == 2
    points[easy] = np.eye(1, 8, 7) + 0.4 * points[easy]
    rare = np.concatenate([codes, [3, 3, 3]])  # and one of three images
    points = np.concatenate([points, -np.eye(3, 8)]).astype(np.float32)
    monkeypatch.setattr(hard, "_LEAST", 20)
    monkeypatch.setattr(hard, "_SHARE", 0.01)
    picked = hard.pick(MemoryRows(csr_array(points)), rare, 0, 1)
    found = np.bincount(rare[picked], minlength=4)
    assert found[2] == 5
    assert found[3] == 3
    assert found[:2].sum() > 10
    own, by_hand = np.flatnonzero(easy), margins(csr_array(points), rare)
    ranks = np.argsort(np.argsort(by_hand[own]))
    assert (ranks[np.isin(own, picked)] < 15).all()


@pytest.mark.usefixtures("few")
def test_threads_pick_the_same():
    rows, codes = clouds(n_classes=5)
    one, two = (hard.pick(MemoryRows(rows), codes, 0, n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one, two)


# ---------------------------------------------------------------------------------------------- very many


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("upright", [True, False, "cv"])
def test_of_very_many_images_hard_ones_train(upright, tmp_path):
    model = DDLCNClassifier(**SETTINGS, upright=upright).fit(IMAGES, LABELS)
    assert model.picked_from_ == len(IMAGES)
    assert 60 <= model.n_train_ <= 80
    plain = DDLCNClassifier(**SETTINGS).learn(IMAGES[:40], LABELS[:40]).descriptor_
    assert model.descriptor_.density == hard.CLOSER * plain.density > plain.density
    assert model.descriptor_.patch_size == plain.patch_size
    stands = model.descriptor_.upright is not None
    assert upright == "cv" or stands == upright
    assert model.copies_ == ("bent" if stands else "none")
    assert "first look" in model.timings_
    assert model.score(UNSEEN, TRUTH) > 0.9
    model.save(tmp_path / "m")
    again = DDLCNClassifier.load(tmp_path / "m")
    assert_array_equal(again.decision_function(UNSEEN), model.decision_function(UNSEEN))
    assert (again.picked_from_, again.n_train_, again.copies_) == (240, model.n_train_, model.copies_)
    for column, label in enumerate(model.classes_):
        assert_adds_up(again, again.explain(UNSEEN[0], label), column, UNSEEN[0])


@pytest.mark.usefixtures("few")
def test_pick_is_by_a_glance_at_all_images():
    """Rows of the deep channel alone, of the smallest patches, as far apart as they were."""
    model = DDLCNClassifier(**SETTINGS, upright=True).stand(IMAGES, LABELS)
    model.learn(IMAGES, LABELS, descriptor=model.descriptor_).weigh(IMAGES, LABELS)
    sift = model.descriptor_
    assert sift.upright is not None
    small = sift.but(patch_size=min(sift.patch_sizes))
    seen = model.network_.glance(small.transform(image, model.value_range_) for image in IMAGES)
    picked = model.pick(IMAGES, LABELS)
    assert_array_equal(picked, hard.pick(MemoryRows(seen), LABELS, 0, 1))
    assert model.descriptor_.get_params() == sift.get_params() | {"density": hard.CLOSER * sift.density}


@pytest.mark.usefixtures("few")
def test_a_store_and_threads_pick_and_learn_the_same(tmp_path):
    here = DDLCNClassifier(**SETTINGS, n_jobs=1).fit(IMAGES, LABELS)
    for given in ({"n_jobs": 2}, {"store": tmp_path / "s"}):
        there = DDLCNClassifier(**SETTINGS, **given).fit(IMAGES, LABELS)
        assert (there.n_train_, there.copies_) == (here.n_train_, here.copies_)
        assert there.descriptor_.get_params() == here.descriptor_.get_params()
        assert_array_equal(there.decision_function(UNSEEN), here.decision_function(UNSEEN))


@pytest.mark.usefixtures("few")
def test_a_picky_model_grows(tmp_path):
    model = DDLCNClassifier(**SETTINGS, upright=True, store=tmp_path / "s").fit(IMAGES, LABELS)
    trained, density = model.n_train_, model.descriptor_.density
    model.grow(UNSEEN[:20], TRUTH[:20])
    assert (model.n_train_, model.picked_from_, model.copies_) == (trained + 20, 260, "bent")
    assert model.descriptor_.density == density
    assert model.score(UNSEEN, TRUTH) > 0.9


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("shape", [(12, 12), (-1, 12)])
def test_rows_of_a_matrix_are_picked_alike(shape):
    truth = DDLCNClassifier(**SETTINGS).fit(IMAGES, LABELS)
    found = DDLCNClassifier(**SETTINGS, image_shape=shape).fit(IMAGES.reshape(240, -1), LABELS)
    assert found.n_train_ == truth.n_train_
    flat = UNSEEN.reshape(len(UNSEEN), -1)
    assert_allclose(found.decision_function(flat), truth.decision_function(UNSEEN), atol=1e-5)


@pytest.mark.usefixtures("few")
def test_lists_of_images_are_picked_alike():
    truth = DDLCNClassifier(**SETTINGS).fit(IMAGES, LABELS)
    found = DDLCNClassifier(**SETTINGS).fit(list(IMAGES), LABELS.tolist())
    assert found.n_train_ == truth.n_train_
    assert_array_equal(found.svm_.coef_, truth.svm_.coef_)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("settings", "n"),
    [
        ({}, 200),  # not yet very many
        ({"preset": "paper"}, 240),
        ({"deeper_atoms": ()}, 240),  # nothing to glance with
    ],
)
def test_all_train_if_they_are_not_many_or_nobody_can_tell(settings, n):
    model = DDLCNClassifier(**SETTINGS | settings).fit(IMAGES[:n], LABELS[:n])
    assert model.picked_from_ is None
    assert model.n_train_ == n
    assert model.descriptor_.density == 1
    assert "first look" not in model.timings_
    assert model.copies_ != "bent"
    assert_array_equal(model.pick(IMAGES[:n], LABELS[:n]), np.arange(n))


@pytest.mark.usefixtures("few")
def test_a_model_that_picked_forgets_it_when_it_learns_few():
    model = DDLCNClassifier(**SETTINGS).fit(IMAGES, LABELS)
    once = model.svm_.coef_
    model.fit(IMAGES[:60], LABELS[:60])
    assert (model.picked_from_, model.n_train_, model.descriptor_.density) == (None, 60, 1)
    model.fit(IMAGES, LABELS)
    assert_array_equal(model.svm_.coef_, once)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", ["mirrored", "none"])
def test_copies_that_are_named_are_made_of_hard_images_too(kind):
    model = DDLCNClassifier(**SETTINGS, upright=True, copies=kind).fit(IMAGES, LABELS)
    assert (model.copies_, model.picked_from_) == (kind, 240)


# ------------------------------------------------------------------------------------------------- upright


def leaning(images, seed=0):
    """The same figures, each sheared and shifted at random."""
    rng, out = np.random.default_rng(seed), np.zeros((len(images), 20, 20))
    for image, there in zip(images, out, strict=True):
        lean, start = rng.uniform(-0.6, 0.6), rng.integers(3, 6)
        for row in range(12):
            first = 4 + round(lean * (row - 6))
            there[start + row, first : first + 12] = image[row]
    return out


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_figures_stand_if_told(preset):
    """By the typical size of the figures that were asked, which few images all are."""
    model = DDLCNClassifier(**SETTINGS, preset=preset, upright=True, copies="none").fit(IMAGES, LABELS)
    pictures = [(image / 16).astype(np.float32) for image in IMAGES]
    height, width = typical(pictures, len(pictures))
    larger = max(1, 5 / 6 / (12**0.5 * height))  # so that they fill their pictures
    assert height > width
    assert_allclose(model.descriptor_.upright, (larger * height, larger * width), atol=1e-6)
    assert model.descriptor is None
    stood = figure_of(model.descriptor_.resize(pictures[1]))
    assert stood.shear == pytest.approx(0, abs=0.06)


def test_a_preset_and_a_word_leave_them_as_they_are():
    for settings in ({"preset": "paper"}, {"upright": False}):
        model = DDLCNClassifier(**SETTINGS | {"copies": "none"} | settings).fit(IMAGES[:60], LABELS[:60])
        assert model.descriptor_.upright is None
        assert "upright" not in model.timings_


@pytest.mark.parametrize("upright", [True, "cv"])
def test_images_without_plain_ground_stay_as_they_are(upright, monkeypatch):
    """Digits that fill their pictures: held-out images are not even asked."""
    asked = []
    monkeypatch.setattr(Judge, "likelihoods", lambda *_: asked.append(1) or np.zeros(0))
    given = SETTINGS | {"copies": "none", "deep": 0.0}
    model = DDLCNClassifier(**given, upright=upright).fit(DIGITS.images[:60], LABELS[:60])
    assert model.descriptor_.upright is None
    assert not asked


@pytest.mark.parametrize(("gain", "spread", "stands"), [(0.1, 0.1, True), (0.1, 9, False), (-0.1, 0, False)])
def test_held_out_images_say_whether_figures_stand(monkeypatch, gain, spread, stands):
    found = iter([np.zeros(60), gain + spread * (-1.0) ** np.arange(60)])
    monkeypatch.setattr(Judge, "likelihoods", lambda *_: next(found))
    model = DDLCNClassifier(**SETTINGS, copies="none", deep=0.0).fit(IMAGES[:60], LABELS[:60])
    assert (model.descriptor_.upright is not None) == stands
    assert next(found, None) is None


def test_standing_is_judged_before_atoms_are_learnt_by_roots_of_descriptors(monkeypatch):
    """Their means over a grid of 16 x 16 cells, of the smallest patches; a line an image, of length 1."""
    grams = []
    monkeypatch.setattr(Judge, "likelihoods", lambda _, gram: grams.append(gram) or np.zeros(9))
    model = DDLCNClassifier(**SETTINGS).stand(IMAGES[:60], LABELS[:60])
    assert not hasattr(model, "network_")
    size = typical([(image / 16).astype(np.float32) for image in IMAGES[:60]], 60)
    for upright, gram in zip((None, filling(*size)), grams, strict=True):
        sift, lines = model.descriptor_.but(patch_size=16, upright=upright), []
        for image in IMAGES[:60]:
            values, positions, shape, _ = sift.transform(image, (0, 16))
            cells = np.ceil((positions + 1) * 16 / np.array(shape)).astype(int) - 1
            grid, members = np.zeros((16, 16, 128)), np.zeros((16, 16, 1))
            for value, cell in zip(values, cells, strict=True):
                grid[tuple(cell)] += np.sqrt(value)
                members[tuple(cell)] += 1
            lines.append((grid / np.maximum(members, 1)).ravel())
        lines = np.array(lines) / np.linalg.norm(lines, axis=1, keepdims=True)
        assert_allclose(gram, lines @ lines.T + 1, atol=1e-4)


def test_leaning_figures_are_stood_upright_and_better_known():
    given = SETTINGS | {"copies": "none", "deep": 1.0}
    images, unseen = leaning(IMAGES), leaning(UNSEEN, seed=1)
    scores = {}
    for upright in ("cv", False):
        model = DDLCNClassifier(**given, upright=upright).fit(images, LABELS)
        assert (model.descriptor_.upright is not None) == (upright == "cv")
        scores[upright] = model.score(unseen, TRUTH)
    assert scores["cv"] > scores[False] + 0.03


def test_where_there_is_nobody_to_ask_figures_stand():
    one_each = np.unique(LABELS, return_index=True)[1]
    for images, stands in ((IMAGES, True), (DIGITS.images, False)):  # the latter fill their pictures
        model = DDLCNClassifier(**SETTINGS).fit(images[one_each], LABELS[one_each])
        assert (model.descriptor_.upright is not None) is stands


def test_a_size_that_is_given_stays():
    given = DenseSIFT(patch_size=12, upright=(0.2, 0.1))
    model = DDLCNClassifier(**SETTINGS, descriptor=given, upright="cv").fit(IMAGES[:60], LABELS[:60])
    assert model.descriptor_.get_params() == given.get_params()


def test_nothing_is_left_chosen_if_choosing_fails(monkeypatch):
    calls, likelihoods = [], Judge.likelihoods

    def fail(*given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return likelihoods(*given)

    model = DDLCNClassifier(**SETTINGS, upright=True, copies="none").fit(IMAGES[:60], LABELS[:60])
    before = model.decision_function(UNSEEN)
    monkeypatch.setattr(Judge, "likelihoods", fail)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(upright="cv").fit(IMAGES[:60], LABELS[:60])
    assert len(calls) == 2
    with pytest.raises(DDLCNError, match="only one class"):
        model.fit(IMAGES[:60], np.zeros(60))
    assert_array_equal(model.decision_function(UNSEEN), before)


def test_figures_are_brought_to_one_size_however_small_they_are():
    """Also where they leave most of their pictures empty."""
    digits = [np.kron(DIGITS.images[n], np.ones((by, by))) for n in range(8) for by in (2, 3)]
    pictures = [np.pad(digit, (80 - len(digit)) // 2).astype(np.float32) / 16 for digit in digits]
    heights = [figure_of(picture).height for picture in pictures]
    size = filling(*typical(pictures, len(pictures)))
    stood = [figure_of(stand(picture, size)).height for picture in pictures]
    assert np.std(heights) / np.mean(heights) > 0.2
    assert np.std(stood) / np.mean(stood) < 0.05
    assert np.mean(stood) == pytest.approx(80 * size[0], rel=0.05)


def test_stages_can_be_called_by_hand():
    sift = DenseSIFT(patch_size=12, upright=(0.2, 0.1))
    model = DDLCNClassifier(**SETTINGS).learn(IMAGES[:60], LABELS[:60], descriptor=sift)
    assert model.descriptor_ is sift
    assert "dictionaries" in model.timings_


@pytest.mark.parametrize("upright", ["maybe", 2, "", (0.2, 0.2)])
def test_strange_wishes(upright):
    with pytest.raises(DDLCNError, match=r'upright=.*: must be True, False or "cv"'):
        DDLCNClassifier(**SETTINGS, upright=upright).learn(["no such file"] * 4, [0, 0, 1, 1])
