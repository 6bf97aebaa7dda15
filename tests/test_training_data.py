"""Training data: checked, in an order that does not depend on the caller's, and kept for `extend`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn import DDLCNError, DenseSIFT, presets
from ddlcn.execution import session
from ddlcn.execution.cache import WorkFolder
from ddlcn.training_data import check, check_addition, joined
from tests.helpers import CountingSIFT, assert_same_model, counting_channels, eight_bit, image_files, quick_model


def test_order_does_not_depend_on_the_caller(digits):
    """Nor do images lose their labels and weights."""
    images, labels = digits
    names, weights, mixed = np.array(list("dbac"))[labels], np.arange(48.0), np.random.default_rng(0).permutation(48)
    found = check(quick_model(), images, names, weights)
    again = check(quick_model(), list(images[mixed]), names[mixed], weights[mixed])
    assert_array_equal(found.classes, list("abcd"))
    assert_array_equal(found.y, np.repeat(np.arange(4), 12))
    assert_array_equal(again.sample_weight, found.sample_weight)
    for each in (found, again):
        assert_array_equal(each.images, images[found.sample_weight.astype(int)])
        assert_array_equal(each.labels, names[found.sample_weight.astype(int)])


def test_equal_images_of_different_weight(digits):
    images, labels = np.repeat(digits[0][::6], 2, axis=0), np.repeat(digits[1][::6], 2)
    weights = np.tile([0.2, 1.0], 8)
    one, other = (quick_model().fit(images, labels, sample_weight=each) for each in (weights, weights[::-1]))
    assert_same_model(one, other)


def test_object_arrays(digits, tmp_path):
    """Columns of a data frame."""
    images, labels = digits
    paths = np.array(image_files(tmp_path, eight_bit(images)), dtype=object)
    names = np.array([f"digit {label}" for label in labels], dtype=object)
    model = quick_model(work_folder=tmp_path / "work").fit(paths, names)
    assert model.predict(paths[:3]).dtype.kind == "U"
    with pytest.raises(DDLCNError, match="a label is missing"):
        quick_model().fit(paths, np.where(labels == 0, np.nan, names))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: 2, 7: 1}, "class_weight: 7 is not a class of these labels: choose from 0, 1, 2, 3$"),
        ({"0": 2, "1": 1}, "class_weight: '0', '1' are no classes"),
        ({0: "x"}, "class_weight of 0 is 'x': give a number"),
        ({0: -1.0}, "class_weight of 0 is -1.0: give a number"),
    ],
)
def test_class_weight_is_checked_first(digits, given, message):
    model = quick_model(channels=counting_channels(), class_weight=given)
    with pytest.raises(DDLCNError, match=message):
        model.fit(*digits)
    assert not CountingSIFT.calls  # no image was described


def test_class_weight_of_classes_that_are_not_there(digits):
    """As in a fold without images of a rare class; scikit-learn accepts it too."""
    assert quick_model(class_weight={0: 2, 1: 1, 2: 1, 3: 1, 4: 9}).fit(*digits).n_train_ == 48


def test_refit_on_other_inputs(digits):
    images, labels = digits
    model = quick_model(image_shape=(8, 8)).fit(images.reshape(len(images), -1), labels)
    assert model.n_features_in_ == 64
    model.set_params(image_shape=None).fit(images, labels)
    assert not hasattr(model, "n_features_in_")


def test_fitted_parts_are_not_the_callers(digits):
    images, labels = digits
    channels = list(presets.paper(atoms_per_class=2).channels)
    model = quick_model(channels=channels).fit(images, labels)
    before = model.decision_function(images[:5])
    channels[0].coder.set_params(beta=10.0)
    assert_array_equal(model.decision_function(images[:5]), before)


def test_evidence_of_two_working_sizes(digits):
    images, labels = digits
    sift, grid = presets.best(atoms_per_class=2, deeper_atoms=(4,)).channels[:2]
    channels = [sift, grid.with_params(descriptor=DenseSIFT(patch_size=16, step=8, min_side=48), weight=1.0)]
    evidence = quick_model(channels=channels).fit(images, labels).explain(images[0])
    assert evidence.map().shape == evidence["sift"].descriptors.shape != evidence["sift_grid"].descriptors.shape
    assert_allclose(evidence.bias + evidence.map().sum(), evidence.score, atol=1e-5)


# -------------------------------------------------------------------------------------------------- extend


def test_joined_rows(digits, tmp_path):
    """Old rows first, as they are kept in the work folder; copies of new images name the rows of these."""
    images, labels, weights = *digits, np.random.default_rng(0).random(48)
    model = quick_model(work_folder=tmp_path, augmentation="flip").fit(images[:36], labels[:36], weights[:36])
    old, new = check(model, images[:36], labels[:36], weights[:36]), check_addition(model, images[36:], labels[36:])
    with session(tmp_path) as run:
        found = joined(model, new, run)
    assert_array_equal(found.groups, np.concatenate([np.tile(np.arange(36), 2), 72 + np.tile(np.arange(12), 2)]))
    assert_array_equal(found.labels, np.concatenate([np.tile(old.labels, 2), np.full(24, 3)]))
    assert_array_equal(found.weights[:72], np.tile(old.sample_weight, 2))
    assert_array_equal(found.features[:36].toarray(), model.transform(old.images).toarray())
    flipped = model.transform(new.images[:, :, ::-1]).toarray()
    assert_allclose(found.features[84:].toarray(), flipped, atol=1e-4)


def test_extend_twice_and_after_loading(digits, tmp_path):
    images, labels = digits
    model = quick_model(work_folder=tmp_path / "work").fit(images[24:], labels[24:])
    model.save(tmp_path / "model")
    model.extend(images[:12], labels[:12]).extend(images[12:24], labels[12:24])
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert model.score(images, labels) > 0.9
    loaded = type(model).load(tmp_path / "model").set_params(work_folder=tmp_path / "work")
    loaded.extend(images[:24], labels[:24])
    assert_allclose(loaded.decision_function(images), model.decision_function(images), atol=1e-2)
    assert loaded.n_train_ == model.n_train_ == 48


@pytest.mark.parametrize(
    ("first", "then"), [(int, str), (int, np.uint8), (np.uint8, int), (np.uint64, int), (str, int), (bool, str)]
)
def test_extend_by_labels_of_another_type(digits, tmp_path, first, then):
    """The text "7" is class 7, as in `evaluate`, and all integers are of one kind."""
    images, labels = digits
    known, more = (labels % 2).astype(first), (labels % 2).astype(first).astype(then)
    one, other = (quick_model(work_folder=tmp_path / name).fit(images[::2], known[::2]) for name in "ab")
    assert_same_model(one.extend(images[1::2], known[1::2]), other.extend(images[1::2], more[1::2]))
    assert other.classes_.dtype.kind in (known.dtype.kind, "i")


def change(name, array):
    """A change of the facts about the rows of a training; None leaves the array out."""
    return lambda facts: {key: each for key, each in (facts | {name: array(facts[name])}).items() if each is not None}


FORGED = {
    "target out of range": change("targets", lambda targets: targets + 1),
    "negative target": change("targets", lambda targets: targets - 1),
    "targets of floats": change("targets", lambda targets: targets * 1.0),
    "fewer targets": change("targets", lambda targets: targets[1:]),
    "no rows": lambda facts: {key: each if key == "parts" else each[:0] for key, each in facts.items()},
    "no weights": change("weights", lambda _: None),
    "weights of two dimensions": change("weights", lambda weights: weights[None]),
    "fewer groups": change("groups", lambda groups: groups[1:]),
    "fewer unseen": change("unseen", lambda unseen: unseen[1:]),
    "no parts": change("parts", lambda parts: parts[1:]),
    "negative parts": change("parts", lambda parts: -parts),
    "no dictionary": lambda facts: facts["targets"],
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forged_facts_in_the_work_folder(digits, tmp_path, forge):
    """Whoever writes to the folder can change facts and write the right digest."""
    model = quick_model(work_folder=tmp_path).fit(*digits)
    folder = WorkFolder(tmp_path)
    (name,) = (name for name in folder.names() if name.startswith("training-") and name.count("-") == 1)
    facts = folder.read(name)
    with folder.in_use():
        folder.write(name, forge(facts))
    with pytest.raises(DDLCNError, match=rf"'{name}' of the work folder is invalid: train again"):
        model.extend(digits[0][:2], digits[1][:2])


@pytest.mark.parametrize("forge", [lambda rows: rows[1:], lambda rows: rows.toarray()], ids=["fewer", "dense"])
def test_forged_rows_in_the_work_folder(digits, tmp_path, forge):
    model = quick_model(work_folder=tmp_path).fit(*digits)
    folder = WorkFolder(tmp_path)
    (name,) = (name for name in folder.names() if name.startswith("training-") and name.endswith("-0"))
    rows = folder.read(name)
    with folder.in_use():
        folder.write(name, forge(rows))
    with pytest.raises(DDLCNError, match="of the work folder is invalid: train again"):
        model.extend(digits[0][:2], digits[1][:2])
