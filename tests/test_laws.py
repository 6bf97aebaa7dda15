"""Laws that hold for every preset, channel, coder, and policy of augmentation."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from ddlcn import Channel, DDLCNClassifier, DenseSIFT, LLCCoder, LocalityCoder, MeanGrid
from ddlcn.description import describe
from ddlcn.presets import best
from tests.helpers import assert_same_model, quick_channels, quick_model, small_digits

SMALL = {"atoms_per_class": 2, "deeper_atoms": (6,)}
MEAN = Channel("mean", DenseSIFT(min_side=40, contrast_threshold=0.1), None, MeanGrid(4))
COVARIANCE = best().channels[3].with_params(descriptor__min_side=40, pooling__n_components=20)
MODELS = {
    "best": DDLCNClassifier(**SMALL),
    "paper": DDLCNClassifier(preset="paper", **SMALL),
    "one layer": quick_model(channels=quick_channels(sift__dictionary__deeper_atoms=())[:1]),
    "minima": quick_model(channels=quick_channels("paper", sift__pooling__minima=True, sift__pooling__levels=(1, 3))),
    "sift and sift_grid": quick_model(channels=quick_channels(sift_grid__weight=0.5)),
    "three layers": quick_model(channels=quick_channels(sift__dictionary__deeper_atoms=(6, 3)), augmentation="affine"),
    "locality coder": quick_model(channels=quick_channels("paper", sift__coder=LocalityCoder(3))),
    "llc coder": quick_model(channels=quick_channels(sift__coder=LLCCoder(5), sift__deeper_coder=LLCCoder(2))),
    "no coder": quick_model(channels=[MEAN]),
    "covariance": quick_model(channels=[COVARIANCE.with_params(descriptor__color=False)]),
    "covariance and sift": quick_model(channels=[*quick_channels()[:1], COVARIANCE]),
    "covariance_grid": quick_model(channels=[COVARIANCE.with_params(pooling__side=2, descriptor__color=False)]),
    "deskew": quick_model(deskew=True),
    "elastic": quick_model(augmentation="elastic", class_weight={0: 2.0, 1: 0.5}),
    "flip": quick_model(augmentation="flip", C="auto", class_weight="balanced"),
}
IMAGES, LABELS = small_digits(6, 3)
IMAGES = np.pad(IMAGES, ((0, 0), (2, 2), (2, 2)))
OTHERS = np.pad(small_digits(14, 3)[0], ((0, 0), (2, 2), (2, 2)))[6:14]


@pytest.fixture(scope="module", params=MODELS)
def unfitted(request):
    return MODELS[request.param]


@pytest.fixture(scope="module")
def fitted(unfitted):
    return clone(unfitted).fit(IMAGES, LABELS)


def test_better_than_chance(fitted):
    assert fitted.score(IMAGES, LABELS) > 0.8


def test_batch_equals_single(fitted):
    rows, scores = fitted.transform(OTHERS).toarray(), fitted.decision_function(OTHERS)
    for image, row, score in zip(OTHERS, rows, scores, strict=True):
        assert_array_equal(fitted.transform([image]).toarray()[0], row)
        assert_array_equal(fitted.decision_function([image])[0], score)
    mixed = np.random.default_rng(0).permutation(len(OTHERS))
    assert_array_equal(fitted.decision_function(OTHERS[mixed]), scores[mixed])


def test_any_n_jobs(unfitted, fitted):
    scores = fitted.decision_function(OTHERS)
    for n_jobs in (1, 3):
        other = clone(unfitted).set_params(n_jobs=n_jobs).fit(IMAGES, LABELS)
        assert_same_model(other, fitted)
        assert_array_equal(other.decision_function(OTHERS), scores)


def test_any_order_of_images(unfitted, fitted):
    mixed = np.random.default_rng(1).permutation(len(IMAGES))
    other = clone(unfitted).fit(list(IMAGES[mixed]), LABELS[mixed])
    assert_same_model(other, fitted)
    assert other.selection_ == fitted.selection_


def test_seed(unfitted, fitted):
    state = np.random.get_state()[1].copy()
    assert_same_model(clone(unfitted).fit(IMAGES, LABELS), fitted)
    other = clone(unfitted).set_params(random_state=1).fit(IMAGES, LABELS)
    for name, atoms in fitted.encoder_.arrays().items():
        without_seed = name.endswith("atom_classes") or name.startswith("covariance")
        assert without_seed or not np.array_equal(other.encoder_.arrays().get(name), atoms)
    assert_array_equal(np.random.get_state()[1], state)  # NumPy's global one


def test_work_folder_changes_nothing(unfitted, fitted, tmp_path):
    for _ in range(2):  # computed, then read
        assert_same_model(clone(unfitted).set_params(work_folder=tmp_path).fit(IMAGES, LABELS), fitted)


def test_saved_equals_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "a")
    loaded = DDLCNClassifier.load(tmp_path / "a")
    assert_same_model(loaded, fitted)
    assert loaded.selection_ == fitted.selection_
    assert (loaded.n_train_, loaded.timings_) == (18, {})
    assert json.dumps(describe(loaded), sort_keys=True) == json.dumps(describe(fitted), sort_keys=True)
    assert_array_equal(loaded.svm_.duality_gap_, fitted.svm_.duality_gap_)
    for name in ("decision_function", "predict_proba", "predict"):
        assert_array_equal(getattr(loaded, name)(OTHERS), getattr(fitted, name)(OTHERS))
    assert_array_equal(loaded.transform(OTHERS).toarray(), fitted.transform(OTHERS).toarray())
    one, other = (model.explain(OTHERS[0]) for model in (loaded, fitted))
    assert_array_equal(one.map(), other.map())
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_inputs_are_left_unchanged(unfitted, fitted):
    images, labels, weights = IMAGES.copy(), LABELS.copy(), np.ones(len(LABELS))
    for array in (images, labels, weights):
        array.setflags(write=False)
    model = clone(unfitted)
    params = {name: repr(value) for name, value in model.get_params().items()}
    assert_same_model(model.fit(images, labels, weights), fitted)
    assert {name: repr(value) for name, value in model.get_params().items()} == params
    before = {name: array.copy() for name, array in fitted.encoder_.arrays().items()}
    fitted.predict_proba(images)
    fitted.explain(images[0])
    assert_array_equal(images, IMAGES)
    assert_array_equal(labels, LABELS)
    for name, array in fitted.encoder_.arrays().items():
        assert_array_equal(array, before[name])
