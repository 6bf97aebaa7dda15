"""Copies of training images: what a change does to pixels, who gets which, that held-out images decide."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import vstack
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, classifier, copies, held_out, units
from ddlcn.copies import KINDS, Change, deal
from ddlcn.held_out import Judge
from ddlcn.layers import descent
from ddlcn.layers.descent import Problem
from ddlcn.layers.growing import Growing
from ddlcn.layers.svm import LinearSVM, _folds, held_out_scores
from ddlcn.store import Store

SMALL = {"atoms_per_class": 2, "deeper_atoms": (4,), "C": 1.0, "deep": 0.0}


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    rows = np.concatenate([np.flatnonzero(data.target == c)[:12] for c in range(4)])
    return data.images[rows], data.target[rows]


# -------------------------------------------------------------------------------------------------- changes


def _sampled(grey, change):
    """Each pixel of the copy, looked up where it came from, by the four pixels around that place."""
    height, width = grey.shape
    angle, out = np.deg2rad(change.turn), np.empty_like(grey)
    for row in range(height):
        for column in range(width):
            y = row - (height - 1) / 2 - change.down * min(grey.shape)
            x = column - (width - 1) / 2 - change.right * min(grey.shape)
            y, x = y * np.cos(angle) - x * np.sin(angle), y * np.sin(angle) + x * np.cos(angle)
            y = np.clip(y / change.scale + (height - 1) / 2, 0, height - 1)
            x = np.clip(x / change.scale + (width - 1) / 2, 0, width - 1)
            top, left = min(int(y), height - 2), min(int(x), width - 2)
            corners = grey[top : top + 2, left : left + 2]
            out[row, column] = [1 - y + top, y - top] @ corners @ [1 - x + left, x - left]
    return out


@pytest.mark.parametrize("change", KINDS["moved"])
def test_moves_look_up_where_pixels_came_from(change):
    grey = np.random.default_rng(0).random((12, 9)).astype(np.float32)
    assert_allclose(change.of(grey), _sampled(grey, change), atol=1e-5)


def test_changes_that_need_no_arithmetic():
    grey = np.random.default_rng(0).random((7, 7)).astype(np.float32)
    assert_array_equal(Change(mirror=True).of(grey), grey[:, ::-1])
    assert_allclose(Change(turn=90).of(grey), np.rot90(grey, -1), atol=1e-5)
    assert_allclose(Change(down=2 / 7).of(grey)[2:], grey[:-2], atol=1e-5)
    assert_allclose(Change(down=2 / 7).of(grey)[:2], grey[[0, 0]], atol=1e-5)


def _bent(grey, bend):
    """Each pixel of the copy, looked up where a sum of waves says, by the four pixels around that place."""
    height, width = grey.shape
    heights = np.random.RandomState(bend).standard_normal((2, 6, 6))
    shifts, out = np.zeros((2, height, width)), np.empty_like(grey)
    for row, column in np.ndindex(height, width):
        for i, j in np.ndindex(6, 6):
            wave = np.cos(np.pi * i * (row + 0.5) / height) * np.cos(np.pi * j * (column + 0.5) / width)
            shifts[:, row, column] += (i + j > 0) * heights[:, i, j] * np.exp(-(i * i + j * j) / 10) * wave
    shifts *= 0.022 * min(height, width) / np.sqrt((shifts**2).mean())
    for row, column in np.ndindex(height, width):
        y = np.clip(row + shifts[0, row, column], 0, height - 1)
        x = np.clip(column + shifts[1, row, column], 0, width - 1)
        top, left = min(int(y), height - 2), min(int(x), width - 2)
        corners = grey[top : top + 2, left : left + 2]
        out[row, column] = [1 - y + top, y - top] @ corners @ [1 - x + left, x - left]
    return out


@pytest.mark.parametrize("shape", [(12, 9), (8, 17), (10, 10)])
@pytest.mark.parametrize("bend", [1, 2, 1000])
def test_bends_look_up_where_waves_say(shape, bend):
    grey = np.random.default_rng(0).random(shape).astype(np.float32)
    found = Change(bend=bend).of(grey)
    assert found.dtype == np.float32
    assert_allclose(found, _bent(grey, bend), atol=1e-5)


@pytest.mark.parametrize("shape", [(28, 28), (20, 45)])
def test_bends_shift_by_as_much_as_they_say(shape):
    """Looked up in pictures of the rows and of the columns, away from the border, where it is cut off."""
    ramps = [ramp.astype(np.float32) for ramp in np.indices(shape)]
    means = []
    for change in KINDS["bent"][:100]:
        shifts = np.array([change.of(ramp) - ramp for ramp in ramps])
        waves = [copies._cosines(side) for side in shape]
        told = np.einsum("ri,kij,cj->krc", waves[0], min(shape) * copies._heights(change.bend), waves[1])
        assert np.sqrt((told**2).mean()) == pytest.approx(0.022 * min(shape))
        inner = np.s_[:, 6:-6, 6:-6]
        assert_allclose(shifts[inner], told[inner], atol=1e-4)
        assert_allclose(told.mean(axis=(1, 2)), 0, atol=1e-9)  # nobody is moved as a whole
        means.append(np.abs(np.diff(told, axis=2)).mean())
    assert max(means) < 0.022 * min(shape)  # neighbours stay neighbours


def test_bends_are_many_all_different_and_always_the_same():
    grey = load_digits().images[0].astype(np.float32)
    assert len(KINDS["bent"]) == 1000 == len(set(KINDS["bent"]))
    made = [change.of(grey).tobytes() for change in KINDS["bent"]]
    assert len({*made, grey.tobytes()}) == 1001
    copies._heights.cache_clear()
    np.random.seed(5)
    assert [change.of(grey).tobytes() for change in KINDS["bent"][::100]] == made[::100]


def test_bends_are_dealt_to_images_and_not_tried(digits, monkeypatch):
    images, changes = deal("bent", np.arange(6000) % 10)
    assert_array_equal(images, np.arange(6000))
    assert np.ptp(np.unique([change.bend for change in changes], return_counts=True)[1]) == 0
    assert len(deal("bent", np.zeros(500, int))[0]) == 2000
    assert "bent" not in copies.TRIED
    seen = set()
    of = Change.of
    monkeypatch.setattr(Change, "of", lambda self, grey: seen.add(self.bend) or of(self, grey))
    DDLCNClassifier(**SMALL).fit(*digits)
    assert seen == {0}


def test_changes_are_dealt_evenly_within_each_class():
    codes = np.tile(np.arange(8), 40)  # classes in turn, as many as there are moves
    images, changes = deal("moved", codes)
    assert len(images) == len(changes) == 6 * len(codes)  # 2,000 / 320
    for c in range(8):
        dealt = [changes.index(change) for i, change in zip(images, changes, strict=True) if codes[i] == c]
        assert np.ptp(np.unique(dealt, return_counts=True)[1]) == 0
        assert len(set(dealt)) == 8
    for i in (0, 100):
        assert len({change for own, change in zip(images, changes, strict=True) if own == i}) == 6


@pytest.mark.parametrize(("n", "each"), [(10, 8), (250, 8), (500, 4), (5000, 1)])
def test_many_images_get_few_copies(n, each):
    assert len(deal("moved", np.zeros(n, int))[0]) == each * n
    assert len(deal("mirrored", np.zeros(n, int))[0]) == n
    assert len(deal("none", np.zeros(n, int))[0]) == 0


# --------------------------------------------------------------------------------------------------- choice


def _lopsided(seed=0):
    """Digits of which any may be in a mirror, so that one that is may have no like among the others."""
    data, rng = load_digits(), np.random.default_rng(seed)
    rows = np.concatenate([np.flatnonzero(data.target == c)[:6] for c in (2, 3, 4, 7, 9)])
    images = np.stack([image[:, :: rng.choice([-1, 1])] for image in data.images[rows]])
    return images, data.target[rows]


def test_what_helps_is_chosen():
    assert DDLCNClassifier(**SMALL).fit(*_lopsided()).copies_ == "mirrored"


def test_what_hurts_is_not_chosen(digits):
    images, _ = digits
    both = np.concatenate([images, images[:, :, ::-1]])  # is it in the mirror?
    model = DDLCNClassifier(**SMALL).fit(both, np.repeat(["no", "yes"], len(images)))
    assert model.copies_ != "mirrored"


@pytest.mark.parametrize(("spread", "kind"), [(0.5, "moved"), (2.0, "none")])
def test_a_gain_must_exceed_its_standard_error(digits, monkeypatch, spread, kind):
    """Each of 48 images gains 0.1 on average, with a standard error of spread / 6.9."""
    found = iter([0 * digits[1], 0.1 + spread * (-1.0) ** np.arange(48), 0 * digits[1]])
    monkeypatch.setattr(Judge, "likelihoods", lambda *_: next(found))
    assert DDLCNClassifier(**SMALL).fit(*digits).copies_ == kind


@pytest.mark.parametrize(
    ("moved", "spread", "kind"), [(0.1, 0.5, "mirrored"), (0.1, 2, "moved"), (-0.1, 2, "none")]
)
def test_a_bolder_kind_must_be_surely_better(digits, monkeypatch, moved, spread, kind):
    """Mirrored copies gain 0.2 on average, moved ones less; none of what is not surely better is taken."""
    unsure = spread * (-1.0) ** np.arange(48)
    found = iter([0 * digits[1], moved + 0 * unsure, 0.2 + unsure])
    monkeypatch.setattr(Judge, "likelihoods", lambda *_: next(found))
    assert DDLCNClassifier(**SMALL).fit(*digits).copies_ == kind


@pytest.mark.parametrize(("judged", "repeats"), [(300, {1, 2, 7}), (100, {1, 2, 3}), (1, {1, 2})])
def test_few_images_are_judged_with_many_copies(digits, monkeypatch, judged, repeats):
    """48 images and up to eight moved copies of each, each like its own image above all."""
    seen, likelihoods = set(), Judge.likelihoods

    def look(judge, gram):
        n = len(judge.sample)
        seen.add(len(gram) // n)
        if len(gram) > 2 * n:  # not mirrored ones
            likest = gram[:n, n:].argmax(axis=0)
            assert (likest == np.tile(np.arange(n), len(gram) // n - 1)).mean() > 0.5
        return likelihoods(judge, gram)

    monkeypatch.setattr(Judge, "likelihoods", look)
    monkeypatch.setattr(copies, "_JUDGED", judged)
    DDLCNClassifier(**SMALL).fit(*digits)
    assert seen == repeats


@pytest.mark.parametrize(
    ("classes", "images", "asked", "of_each"),
    [(38, 32, 10, 30), (100, 20, 20, 20), (102, 30, 20, 30), (10, 30, 10, 30), (10, 6000, 10, 100)],
)
def test_whole_classes_are_asked_a_fifth_of_all(classes, images, asked, of_each):
    """But no fewer than 300 images, and no more than 1,000."""
    codes = np.tile(np.arange(classes), images)
    found = np.bincount(codes[Judge(codes, 1.0, 0, 1).sample])
    assert set(found[found > 0]) == {of_each}
    assert np.count_nonzero(found) == asked


def test_single_images_choose_none(digits):
    images, labels = digits
    assert DDLCNClassifier(**SMALL).fit(images[::12], labels[::12]).copies_ == "none"


def test_unknown_kind(digits):
    with pytest.raises(DDLCNError, match="copies='upside down': unknown; choose one of 'none', 'moved'"):
        DDLCNClassifier(**SMALL, copies="upside down").fit(*digits)


def test_held_out_images_have_no_copies_in_training():
    """Oracle: leave out each fold with its copies, by hand. And labels of chance can not be learnt."""
    rng = np.random.default_rng(0)
    own, codes = rng.normal(size=(60, 30)), rng.integers(2, size=60)
    X = np.concatenate([own, own + 0.01 * rng.normal(size=own.shape)])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    origins = np.concatenate([np.arange(60), np.arange(60)])
    problem = Problem(X, codes[origins], "gram", 1e-9, 0, 1)
    [(found, truth)] = held_out_scores(problem, (1.0,), origins, 0)
    assert_array_equal(truth, codes)
    folds = _folds(codes, np.random.RandomState(0))
    for fold in range(3):
        train = folds[origins] != fold
        part = LinearSVM(tol=1e-9).fit(X[train], codes[origins][train])
        scores = part.decision_function(X[:60][folds == fold])
        assert_allclose(found[folds == fold], np.outer(scores, [-0.5, 0.5]), atol=0.05)
    [(leaking, _)] = held_out_scores(problem, (1.0,), None, 0)
    assert (leaking.argmax(axis=1) == codes[origins]).mean() > (found.argmax(axis=1) == codes).mean() + 0.1


# ------------------------------------------------------------------------------------------------- training


def _by_hand(kind, images, labels, new=None):
    """Dictionaries of the images; an SVM on rows of them and of copies, one by one."""
    model = DDLCNClassifier(**SMALL, copies=kind).learn(images, labels)
    rows, known, origins, before = [], [], [], labels[:0]
    for more, theirs in [(images, labels)] + ([new] if new else []):
        copied, changes = deal(kind, np.concatenate([before, theirs]), first=len(before))
        before = np.concatenate([before, theirs])
        made = (
            model.descriptor_.transform(more[i], (0, 16), change.of)
            for i, change in zip(copied, changes, strict=True)
        )
        start = sum(map(len, known))
        rows += [model.transform(more), model.network_.rows(made)]
        known += [theirs, theirs[copied]]
        origins += [start + np.arange(len(theirs)), start + copied]
    return model.train(vstack(rows, format="csr"), np.concatenate(known), np.concatenate(origins))


@pytest.mark.parametrize("kind", ["mirrored", "moved", "bent"])
def test_fit_is_training_on_images_and_copies(digits, tmp_path, kind):
    truth = _by_hand(kind, *digits)
    for given in ({}, {"n_jobs": 2}, {"store": tmp_path / "s"}):
        model = DDLCNClassifier(**SMALL, copies=kind, **given).fit(*digits)
        assert_allclose(model.svm_.coef_, truth.svm_.coef_, atol=1e-4)
        assert model.n_train_ == len(digits[0])
        assert model.copies_ == kind
        assert {"dictionaries", "upright", "coding", "copies", "svm"} == set(model.timings_)


def test_large_images_are_shrunk_before_they_are_changed(digits, monkeypatch):
    model = DDLCNClassifier(**SMALL, descriptor=DenseSIFT(max_side=48)).learn(*digits)
    large = np.kron(digits[0][:2], np.ones((20, 10)))  # 160 x 80
    seen, change = [], KINDS["moved"][0]
    monkeypatch.setattr(Change, "of", lambda _, grey: seen.append(grey.shape) or grey)
    found = model._rows(large, changes=(change, change)).load()
    assert seen == [(48, 24)] * 2
    assert_allclose(found.toarray(), model.transform(large).toarray(), atol=1e-5)


def test_what_judged_a_kind_is_not_coded_again(monkeypatch):
    images, labels = _lopsided()
    truth, coded, code = (
        DDLCNClassifier(**SMALL, copies="mirrored").fit(images, labels),
        [],
        units.code_images,
    )
    monkeypatch.setattr(held_out, "_FEW", 20)
    monkeypatch.setattr(
        units, "code_images", lambda some, *rest: coded.append(len(some)) or code(some, *rest)
    )
    model = DDLCNClassifier(**SMALL).fit(images, labels)
    assert model.copies_ == "mirrored"
    assert sum(coded) == 2 * len(images) + 8 * 18  # three classes judged moved copies in vain
    assert_allclose(model.svm_.coef_, truth.svm_.coef_, atol=1e-3)


def test_rows_in_memory_can_be_augmented_beside_a_store(tmp_path):
    images, labels = _lopsided()
    model = DDLCNClassifier(**SMALL, store=tmp_path / "s").learn(images, labels)
    model.train(*model.augment(images, model.transform(images), labels))
    truth = DDLCNClassifier(**SMALL).fit(images, labels)
    assert model.copies_ == truth.copies_ == "mirrored"
    assert_array_equal(model.svm_.coef_, truth.svm_.coef_)
    assert model.train(model.transform(images), labels).copies_ == "none"


def test_one_image_more_gets_as_many_copies_as_the_others(digits, tmp_path):
    images, labels = np.repeat(digits[0], 10, axis=0), np.repeat(digits[1], 10)
    model = DDLCNClassifier(**SMALL, copies="moved", store=tmp_path / "s").fit(images, labels)
    grown = model.grow(images[:1], labels[:1])
    _, codes, origins = units.trained_on(Store(tmp_path / "s"), grown.svm_)
    assert len(codes) == len(origins) == 5 * (len(images) + 1)  # 2,000 / 481 copies
    assert_array_equal(np.bincount(origins)[:480], 5)


@pytest.mark.parametrize("stored", [False, True])
def test_rows_given_to_augment_stay_as_they_are(digits, tmp_path, stored):
    model = DDLCNClassifier(**SMALL, copies="mirrored").learn(*digits)
    before = model.transform(digits[0])
    rows = model._rows(digits[0], Store(tmp_path)) if stored else before.copy()
    for _ in range(2):
        more, labels, origins = model.augment(digits[0], rows, digits[1])
        assert more.shape[0] == len(labels) == len(origins) == 2 * len(digits[0])
        more, kept = (each.load() if stored else each for each in (more, rows))
        assert_array_equal(kept.toarray(), before.toarray())
        assert_array_equal(more[: len(digits[0])].toarray(), before.toarray())


@pytest.mark.parametrize(("images", "kind"), [(300, "cv"), (300, "moved"), (40, "cv")])
def test_sparse_rows_with_copies_in_a_store(tmp_path, monkeypatch, images, kind):
    """Asked for copies, then trained class by class on the sparse rows."""
    monkeypatch.setattr(descent, "_LARGEST_GRAM", 10)
    data, settings = load_digits(), SMALL | {"deeper_atoms": (), "copies": kind}
    truth, found = (
        DDLCNClassifier(**settings, **more).fit(data.images[:images], data.target[:images])
        for more in ({}, {"store": tmp_path / "s"})
    )
    files = in_files(monkeypatch)
    in_a_file = DDLCNClassifier(**settings).fit(data.images[:images], data.target[:images])
    assert set(files) == {"indices", "data"}
    assert truth.copies_ == found.copies_ == in_a_file.copies_ == "moved"
    assert_array_equal(found.svm_.coef_, truth.svm_.coef_)
    assert_array_equal(in_a_file.svm_.coef_, truth.svm_.coef_)


def test_answers_do_not_depend_on_threads_or_where_rows_are(tmp_path, monkeypatch):
    images, labels = _lopsided()
    first = DDLCNClassifier(**SMALL).fit(images, labels)
    for given in ({"n_jobs": 2}, {"store": tmp_path / "s"}):
        assert_array_equal(DDLCNClassifier(**SMALL, **given).fit(images, labels).svm_.coef_, first.svm_.coef_)
    files = in_files(monkeypatch)
    in_a_file = DDLCNClassifier(**SMALL, n_jobs=2).fit(images, labels)
    assert files == 2 * ["indices", "data"]  # of rows of all images, and of copies that judge a kind
    assert_array_equal(in_a_file.svm_.coef_, first.svm_.coef_)


def in_files(monkeypatch):
    """From now on rows are put into files; returns a list that will tell what was."""
    moved, move = [], Growing._move
    monkeypatch.setattr(classifier, "ROOM", 1000)
    monkeypatch.setattr(copies, "ASKED_ROOM", 1000)
    monkeypatch.setattr(
        Growing,
        "_move",
        lambda self: moved.append("indices" if self.values.dtype.kind == "i" else "data") or move(self),
    )
    return moved


@pytest.mark.parametrize("kind", ["mirrored", "moved"])
def test_a_model_grows_with_copies_of_its_kind(digits, tmp_path, kind):
    images, labels = digits
    known = np.arange(len(labels)) % 3 > 0
    model = DDLCNClassifier(**SMALL, copies=kind, store=tmp_path / "s").fit(images[known], labels[known])
    model.save(tmp_path / "model")
    truth = _by_hand(kind, images[known], labels[known], (images[~known], labels[~known]))
    grown = DDLCNClassifier.load(tmp_path / "model").set_params(store=tmp_path / "s")
    grown.grow(images[~known], labels[~known])
    assert_allclose(grown.svm_.coef_, truth.svm_.coef_, atol=1e-4)
    assert grown.n_train_ == len(labels)
