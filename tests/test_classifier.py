"""The classifier as scikit-learn's world uses it."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, ImageError

SMALL = {
    "atoms_per_class": 2,
    "deeper_atoms": (8,),
    "descriptor": DenseSIFT(min_side=40, contrast_threshold=0.1),
}


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    rows = np.concatenate([np.flatnonzero(data.target == c)[:24] for c in range(4)])
    return data.images[rows], data.target[rows]


@pytest.fixture(scope="module")
def files(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    paths = []
    for i, image in enumerate(digits[0]):
        paths.append(str(folder / f"{i}.png"))
        Image.fromarray((image * 255 / 16).round().astype(np.uint8)).save(paths[-1])
    return paths


# the checks' rows are points, not pictures: brightness is all they have, so contrast is not normalised away
BRIGHTNESS = DenseSIFT(contrast_threshold=100.0)


@parametrize_with_checks(
    [
        DDLCNClassifier(image_shape=(1, -1), descriptor=BRIGHTNESS),
        DDLCNClassifier(image_shape=(-1, 1), preset="paper"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_default_model_is_sensible(digits):
    images, labels = digits
    assert DDLCNClassifier().fit(images[::2], labels[::2]).score(images[1::2], labels[1::2]) > 0.95


@pytest.mark.parametrize("labels", [list("abcd"), [7, 1, -3, 5], [True, False, True, False]])
def test_labels_of_any_kind_come_back(digits, labels):
    images, codes = digits
    wanted = np.array(labels)[codes]
    model = DDLCNClassifier(**SMALL).fit(images, wanted)
    assert model.classes_.dtype == wanted.dtype
    assert (model.predict(images) == wanted).mean() > 0.95


def test_images_as_paths_arrays_and_rows_give_one_answer(digits, files):
    images, labels = digits
    eight_bit = (images * 255 / 16).round().astype(np.uint8)
    scores = DDLCNClassifier(**SMALL).fit(files, labels).decision_function(files)
    for same in (eight_bit, list(eight_bit), np.repeat(eight_bit[..., None], 3, axis=3)):
        assert_allclose(DDLCNClassifier(**SMALL).fit(same, labels).decision_function(same), scores, atol=1e-4)
    rows = eight_bit.reshape(len(labels), -1)
    by_rows = DDLCNClassifier(**SMALL, image_shape=(8, 8)).fit(rows, labels)
    assert_allclose(by_rows.decision_function(rows), scores, atol=1e-4)


def test_clone_pipeline_grid_search_and_cross_validation(digits, files):
    images, labels = digits
    model = DDLCNClassifier(**SMALL)
    assert clone(model).get_params()["descriptor"].min_side == 40
    search = GridSearchCV(model, {"coder": ["exact", "llc"], "descriptor__step": [4, 6]}, cv=2).fit(
        files, labels
    )
    assert search.best_score_ > 0.9
    piped = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(piped, images, labels, cv=2).min() > 0.9


@pytest.mark.parametrize("preset", ["paper", "best"])
def test_one_job_equals_many_and_one_image_equals_a_batch(digits, preset):
    images, labels = digits
    alone, many = (DDLCNClassifier(preset=preset, n_jobs=n).fit(images, labels) for n in (1, 3))
    assert_array_equal(alone.network_.dictionaries[0], many.network_.dictionaries[0])
    assert_array_equal(alone.svm_.coef_, many.svm_.coef_)
    batch = alone.decision_function(images[:40])
    assert_array_equal(many.decision_function(images[:40]), batch)
    one_by_one = np.concatenate([alone.decision_function(images[i : i + 1]) for i in range(40)])
    assert_array_equal(one_by_one, batch)


def test_same_seed_same_model_other_seed_another(digits):
    images, labels = digits
    first, again, other = (
        DDLCNClassifier(**SMALL, images_per_class=5, random_state=seed).fit(images, labels)
        for seed in (1, 1, 2)
    )
    assert_array_equal(first.svm_.coef_, again.svm_.coef_)
    assert not np.array_equal(first.network_.dictionaries[0], other.network_.dictionaries[0])


@pytest.mark.parametrize("deeper", [(), (8,), (8, 4)])
def test_expanded_and_collapsed_models_agree(digits, deeper):
    images, labels = digits
    short, literal = (
        DDLCNClassifier(**SMALL | {"deeper_atoms": deeper}, preset="paper", expand=e).fit(images, labels)
        for e in (False, True)
    )
    short_rows, literal_rows = short.transform(images), literal.transform(images)
    assert literal_rows.shape[1] > short_rows.shape[1] or not deeper
    assert_allclose(
        (short_rows @ short_rows.T).toarray(), (literal_rows @ literal_rows.T).toarray(), atol=1e-5
    )
    assert_allclose(short.decision_function(images), literal.decision_function(images), atol=1e-3)
    assert_array_equal(short.predict(images), literal.predict(images))


def test_probabilities_are_calibrated_and_in_the_order_of_scores(digits):
    images, labels = digits
    model = DDLCNClassifier(**SMALL).fit(images[::2], labels[::2])
    probabilities, scores = model.predict_proba(images[1::2]), model.decision_function(images[1::2])
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(probabilities.argsort(axis=1), scores.argsort(axis=1))
    confidence = probabilities.max(axis=1).mean()
    assert abs(confidence - model.score(images[1::2], labels[1::2])) < 0.1


def test_memory_of_predicting_does_not_grow_with_the_images(digits):
    images, labels = digits
    model = DDLCNClassifier(**SMALL, n_jobs=1).fit(images, labels)
    model.predict(images)  # so that what is made once is there

    def peak(times):
        many = np.tile(images, (times, 1, 1))
        tracemalloc.start()
        model.predict(many)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(16) < 1.5 * peak(2)


def test_fewer_images_than_asked_and_more_atoms_than_descriptors(digits):
    images, labels = digits
    model = DDLCNClassifier(
        images_per_class=50, atoms_per_class=40, descriptor=DenseSIFT(), deeper_atoms=(200,)
    )
    model.fit(images[::4], labels[::4])
    assert [len(d) for d in model.network_.dictionaries] == [160, 200]
    assert np.isfinite(model.decision_function(images)).all()


@pytest.mark.parametrize(
    ("change", "data", "words"),
    [
        ({}, lambda x, y: (x, y[:-1]), "one label for each image"),
        ({}, lambda x, y: (x, np.zeros_like(y)), "at least 2 classes"),
        ({}, lambda x, y: (x.reshape(len(x), -1), y), "image_shape"),
        ({}, lambda x, y: ("a.png", y), r"list of images"),
        ({}, lambda x, y: ([], []), "no images"),
        ({}, lambda x, y: (np.where(x > 15, np.nan, x), y), "NaN"),
        ({"image_shape": (3, 3)}, lambda x, y: (x.reshape(len(x), -1), y), "image_shape=.3, 3. does not fit"),
        ({"preset": "worst"}, lambda x, y: (x, y), "choose one of paper, best"),
        ({"coder": "none"}, lambda x, y: (x, y), '"exact" or "llc"'),
        ({"atoms_per_class": 0}, lambda x, y: (x, y), "at least 1"),
        ({"images_per_class": 0}, lambda x, y: (x, y), "at least 1"),
        ({"C": -1.0}, lambda x, y: (x, y), "positive number"),
        ({"beta": -1.0}, lambda x, y: (x, y), "beta"),
        ({"neighbors": ()}, lambda x, y: (x, y), "neighbors"),
        ({"pyramid": ()}, lambda x, y: (x, y), "level"),
        ({"descriptor": DenseSIFT(step=0)}, lambda x, y: (x, y), "step"),
        ({"deeper_atoms": (0,)}, lambda x, y: (x, y), "positive"),
    ],
)
def test_mistakes_get_one_clear_line(digits, change, data, words):
    with pytest.raises(DDLCNError, match=words) as error:
        DDLCNClassifier(**change).fit(*data(*digits))
    assert "\n" not in str(error.value)


def test_a_broken_file_is_named(digits, files, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    model = DDLCNClassifier(**SMALL).fit(files, digits[1])
    with pytest.raises(ImageError, match=r"broken\.png"):
        model.predict([files[0], broken])


def test_predicting_before_fitting(digits):
    with pytest.raises(NotFittedError):
        DDLCNClassifier().predict(digits[0])
    with pytest.raises(NotFittedError):
        DDLCNClassifier().explain(digits[0][0])
    with pytest.raises(NotFittedError):
        DDLCNClassifier().save("nowhere.ddlcn")
