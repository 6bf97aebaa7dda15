"""Selection: one rule for all settings, on held-out images; what helps is taken, what hurts is not."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, vstack

from ddlcn.descriptors.color import ColorStatistics
from ddlcn.preprocessing.augmentation import copies
from ddlcn.selection import Selection
from tests.helpers import mirrored_digits, quick_channels, quick_model, small_digits

KEYS = {"setting", "candidate", "mean_gain", "standard_error", "chosen", "reason"}
Y = np.repeat([0, 1, 2], 16)
UNSURE = (-1.0) ** np.arange(48)  # a gain of mean 0 and standard error 1 / √48


def chosen(record):
    return {row["setting"]: row["candidate"] for row in record if row["chosen"]}


# ---------------------------------------------------------------------------------------------------- rule


@pytest.mark.parametrize(("factor", "taken"), [(0.9, "default"), (1.1, "other")])
def test_gain_must_exceed_its_standard_error(factor, taken):
    gains = {"default": 0 * UNSURE - 3, "other": UNSURE + factor / 48**0.5 - 3}
    selection = Selection(Y, 0)
    assert selection.choose("size", list(gains), gains.get) == taken
    first, second = selection.record
    assert set(first) == KEYS
    assert (first["mean_gain"], first["standard_error"]) == (0, 0)
    assert second["mean_gain"] == pytest.approx(factor / 48**0.5)
    assert second["standard_error"] == pytest.approx(47**-0.5)
    assert chosen(selection.record) == {"size": taken}


def test_candidates_are_compared_with_the_incumbent():
    """The third is better than the first, but not than the second; the last is surely better than that."""
    gains = {1: 0 * UNSURE, 2: 0.5 + 0 * UNSURE, 3: 0.4 + 0 * UNSURE, 4: 0.6 + 0.01 * UNSURE, 5: 0.6 + 0.01 * UNSURE}
    selection = Selection(Y, 0)
    assert selection.choose("size", list(gains), gains.get) == 4
    assert [round(row["mean_gain"], 9) for row in selection.record] == [0, 0.5, -0.1, 0.1, 0]
    assert [row["chosen"] for row in selection.record] == [False, False, False, True, False]


def test_default_where_nothing_can_be_held_out():
    selection, asked = Selection(Y[::16], 0), []
    assert selection.choose("size", [1, 2], lambda n: asked.append(n) or np.empty(0)) == 1
    assert asked == [1]
    (row,) = selection.record
    assert (row["candidate"], row["mean_gain"], row["standard_error"], row["chosen"]) == (1, None, None, True)
    assert row["reason"] == "default, because fewer than 4 images can be held out"


@pytest.mark.parametrize(
    ("classes", "images", "sampled", "of_each"),
    [(38, 32, 33, 30), (100, 20, 50, 20), (102, 30, 33, 30), (10, 30, 10, 30), (10, 6000, 10, 100), (3, 1, 3, 1)],
)
def test_sample_has_whole_classes(classes, images, sampled, of_each):
    """Up to 1,000 images."""
    y = np.tile(np.arange(classes), images)
    sample = Selection(y, 0).sample
    found = np.bincount(y[sample])
    assert set(found[found > 0]) == {of_each}
    assert np.count_nonzero(found) == sampled
    assert (np.diff(sample) > 0).all()
    assert_array_equal(sample, Selection(y, 0).sample)


def test_sample_of_few_images_is_all_of_them():
    y = np.repeat([0, 1], [900, 100])
    assert_array_equal(Selection(y, 0).sample, np.arange(1000))


@pytest.mark.parametrize(("n_images", "chosen"), [(1, 1), (3, 1), (4, 10)])
def test_few_held_out_images_decide_nothing(n_images, chosen):
    selection = Selection(np.array([0, 0, 1, 1]), 0)
    assert selection.choose("C", [1, 10], lambda C: np.full(n_images, np.log(0.1 * C))) == chosen
    if chosen == 10:
        return
    assert selection.record[0]["reason"] == "default, because fewer than 4 images can be held out"


# ------------------------------------------------------------------------------------------------- weights


def blocks(noise):
    """Rows of two channels at weight 1: points around a corner for each class, with unlike noise."""
    rng = np.random.default_rng(7)
    parts = [np.eye(20)[Y] + level * rng.normal(size=(48, 20)) for level in noise]
    return csr_array(np.hstack([part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]) / 2**0.5)


def grams(noise):
    """The Gram matrices of two such channels."""
    rows = blocks(noise).toarray() * 2**0.5
    return lambda: [(part @ part.T).astype(np.float32) for part in np.hsplit(rows, 2)]


def noisy(y, noise, rng):
    """Points of unit length around the corner of each of ten classes."""
    rows = np.eye(10)[y] + noise * rng.normal(size=(len(y), 10))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def channels_of(*weights, descriptor=None):
    pairs = zip("ab", weights, strict=True)
    return [SimpleNamespace(name=name, weight=weight, descriptor=descriptor) for name, weight in pairs]


def test_weights():
    """A channel of noise is left out, and one that has all information weighs most, or the other is left out."""
    selection = Selection(Y, 0)
    assert selection.weights(channels_of(1.0, "auto"), grams([0.3, 100])) == [1, 0]
    assert [row["candidate"] for row in selection.record] == [1, 0, 0.5, 2, 4]
    assert {row["setting"] for row in selection.record} == {"weight of b"}
    first, second = Selection(Y, 0).weights(channels_of("auto", "auto"), grams([100, 0.3]))
    assert (first, second > 0) == (0, True)
    assert Selection(Y, 0).weights(channels_of(1.0, "auto"), grams([100, 0.3]))[1] == 4
    assert Selection(Y, 0).weights(channels_of(1.0, 0.25), lambda: pytest.fail("nothing is free")) == [1, 0.25]


def test_default_weight_of_a_descriptor():
    """It is the first candidate, and stays if none is better."""
    selection, same = Selection(Y, 0), grams([1, 1])()[:1] * 2
    channels = channels_of(1.0, "auto", descriptor=SimpleNamespace(default_weight=2.0))
    assert selection.weights(channels, lambda: same) == [1, 2]
    assert [row["candidate"] for row in selection.record] == [2, 1, 0, 0.5, 4]
    assert Selection(Y[:2], 0).weights(channels, lambda: [gram[:2, :2] for gram in same]) == [1, 2]


def test_least_weight_of_a_descriptor():
    """Noise is not left out, but weighs as little as the descriptor allows; so grey images are unknown."""
    selection = Selection(Y, 0)
    assert selection.weights(channels_of(1.0, "auto", descriptor=ColorStatistics()), grams([0.3, 100])) == [1, 0.5]
    assert [row["candidate"] for row in selection.record] == [1, 0.5, 2, 4]


def test_weights_by_images_that_taught_nothing():
    """A channel that knows the classes of the images that taught it, and guesses those of others, is left out."""
    unseen, honest = np.arange(len(Y)) % 3 == 0, grams([0.3, 0.3])()[0]
    known = np.where(unseen, np.random.default_rng(0).permutation(Y), Y)
    both = [honest, np.equal.outer(known, known).astype(np.float32)]
    assert Selection(Y, 0, unseen).weights(channels_of(1.0, "auto"), lambda: both) == [1, 0]
    assert Selection(Y, 0, ~unseen).weights(channels_of(1.0, "auto"), lambda: both)[1] > 0


# -------------------------------------------------------------------------------------- deskew, augmentation


@pytest.mark.parametrize(
    ("noise", "size"), [({None: 2, (0.2, 0.1): 0.1}, (0.2, 0.1)), ({None: 0.1, (0.2, 0.1): 2}, None)]
)
def test_deskew(noise, size):
    selection = Selection(Y, 0)
    assert selection.deskew((0.2, 0.1), lambda to: blocks([noise[to]] * 2)) == size
    assert chosen(selection.record) == {"deskew": size is not None}
    assert Selection(Y, 0).deskew(None, lambda _: pytest.fail("there is no foreground")) is None


def test_many_images_are_not_augmented():
    selection = Selection(np.arange(10_001) % 2, 0)
    assert selection.augmentation(csr_array((1, 1)), lambda *_: pytest.fail("too many"))[0] == "none"
    assert selection.record[0]["reason"] == "more than 10,000 images"


@pytest.mark.parametrize(
    ("noise", "policy", "encoded"),
    [
        ({"flip": 5, "affine": 5}, "none", {"flip": [300], "affine": [300]}),
        ({"flip": 5, "affine": 0.1}, "affine", {"flip": [300, 400], "affine": [300, 400]}),
        ({"flip": 0.1, "affine": 5}, "flip", {"flip": [300, 400], "affine": [300, 400]}),
    ],
)
def test_augmentation_is_compared_on_300_images_first(noise, policy, encoded):
    """Originals are noisy; only copies with less noise help. No copy is encoded twice, nor for another image."""
    y, rng, asked = np.tile(np.arange(10), 70), np.random.default_rng(0), {"flip": [], "affine": []}
    expected = {name: copies(name, y)[1] for name in asked}

    def encode(images, augmentations):
        name = "flip" if augmentations[0].flip else "affine"
        asked[name].append(images)
        assert augmentations == tuple(expected[name][image] for image in images)
        return csr_array(np.column_stack([noisy(y[images], noise[name], rng), np.float32(1e-6) * images]), dtype="f4")

    rows = csr_array(np.column_stack([noisy(y, 0.6, rng), np.zeros(700)]), dtype="f4")
    selection = Selection(y, 0)
    found, copied, parts = selection.augmentation(rows, encode)
    assert found == policy
    assert [row["candidate"] for row in selection.record] == ["none", "flip", "affine"]
    assert chosen(selection.record) == {"augmentation": policy}
    assert {name: list(map(len, each)) for name, each in asked.items()} == encoded
    assert set(np.bincount(y[asked["flip"][0]])) == {30}
    if policy == "none":
        assert (len(copied), parts) == (0, [])
    else:
        assert_array_equal(np.sort(copied), np.arange(700))
        assert_array_equal(np.round(1e6 * vstack(parts).toarray()[:, 10]), copied)


def test_gain_on_300_images_only():
    """Copies of the first 300 help, those of the others do harm: refused, after both comparisons."""
    y, rng, asked = np.tile(np.arange(10), 70), np.random.default_rng(0), []

    def encode(images, _):
        asked.append(len(images))
        return csr_array(noisy((y[images] + len(asked) - 1) % 10, 0.1, rng))  # then they look like another class

    selection, rows = Selection(y, 0), csr_array(noisy(y, 0.6, rng))
    found, copied, parts = selection.augmentation(rows, encode, ("none", "flip"))
    assert (found, asked, len(copied), parts) == ("none", [300, 400], 0, [])
    assert [(row["candidate"], row["chosen"]) for row in selection.record] == [("none", True), ("flip", False)]


def test_augmentation_of_more_images_than_are_compared():
    """Of 1,400 images 1,000 are the sample; half of all may be held out, and only noise of these decides."""
    y, rng, asked = np.tile(np.arange(10), 140), np.random.default_rng(0), []
    unseen = np.arange(1400) // 10 % 2 == 1  # of each class every other image
    noise = np.where(unseen, 0.6, 0.1)[:, None]

    def encode(images, _):
        asked.append(images)
        return csr_array(np.eye(10, dtype="f4")[y[images]] + np.float32(0.1) * rng.normal(size=(len(images), 10)))

    rows = csr_array((np.eye(10)[y] + noise * rng.normal(size=(1400, 10))).astype("f4"))
    selection = Selection(y, 0, unseen)
    found, copied, parts = selection.augmentation(rows, encode, ("none", "flip"))
    assert (found, list(map(len, asked))) == ("flip", [300, 700])
    assert set(copied) == set(selection.sample)
    assert len(selection.sample) == 1000
    assert sum(part.shape[0] for part in parts) == 1000


# --------------------------------------------------------------------------------------------- in training


def test_augmentation_that_helps_is_chosen():
    model = quick_model(augmentation="auto").fit(*mirrored_digits())
    assert model.augmentation_ == chosen(model.selection_)["augmentation"] == "flip"


def test_augmentation_that_hurts_is_not_chosen():
    images, _ = small_digits()
    both = np.concatenate([images, images[:, :, ::-1]])  # is it mirrored?
    model = quick_model(augmentation="auto").fit(both, np.repeat(["no", "yes"], len(images)))
    assert model.augmentation_ != "flip"


def test_selection_of_a_model():
    images, labels = small_digits()
    channels = quick_channels(sift_grid__weight="auto")
    model = quick_model(channels=channels, deskew="auto", augmentation="auto", C="auto").fit(images, labels)
    assert all(set(row) == KEYS for row in model.selection_)
    settings = ["deskew", "weight of sift_grid", "augmentation", "C"]
    assert list(dict.fromkeys(row["setting"] for row in model.selection_)) == settings
    found = chosen(model.selection_)
    assert list(found) == settings
    assert found["C"] == model.svm_.C_
    assert found["augmentation"] == model.augmentation_
    weights = dict(zip([c.name for c in model.encoder_.channels], model.encoder_.weights, strict=True))
    assert found["weight of sift_grid"] == weights.get("sift_grid", 0)
    of_C = [row for row in model.selection_ if row["setting"] == "C"]
    assert [row["candidate"] for row in of_C] == [0.1, 1, 10, 100]
    assert of_C[2]["mean_gain"] == 0
    assert max(of_C, key=lambda row: row["mean_gain"])["chosen"]


@pytest.mark.parametrize(
    ("enlarged", "deskew", "compared"),
    [(8, False, ["none", "flip", "affine"]), (9, False, ["none", "flip"]), (1, True, ["none", "affine"])],
)
def test_policies_that_suit_the_images(enlarged, deskew, compared):
    """Small images, of 64 pixels; larger ones, of 72; and deskewed ones."""
    images, labels = small_digits()
    images = np.pad(images.repeat(enlarged, axis=1).repeat(enlarged, axis=2), [(0, 0), *[(4 * deskew,) * 2] * 2])
    model = quick_model(augmentation="auto", deskew=deskew).fit(images, labels)
    assert (model.encoder_.deskew is not None) == deskew
    assert [row["candidate"] for row in model.selection_ if row["setting"] == "augmentation"] == compared


def test_single_image_per_class():
    images, labels = small_digits(1)
    channels = quick_channels(sift_grid__weight="auto")
    model = quick_model(channels=channels, deskew="auto", augmentation="auto", C="auto").fit(images, labels)
    assert (model.augmentation_, model.encoder_.deskew, model.svm_.C_) == ("none", None, 10)
    assert model.encoder_.weights == (1.0, 1.0)
    assert [row["mean_gain"] for row in model.selection_] == [None] * len(model.selection_)


def test_deskew_of_a_model():
    """Digits that lean and lie anywhere are better deskewed; in noise there is nothing to deskew."""
    images, labels = small_digits(12, 6)
    rng, large = np.random.default_rng(0), np.zeros((len(images), 24, 24))
    for image, canvas in zip(images, large, strict=True):
        for row, shift in enumerate(rng.integers(0, 9) + np.round(rng.uniform(-0.9, 0.9) * np.arange(8)).astype(int)):
            start = np.clip(shift, 1, 15)
            canvas[8 + row, start : start + 8] = image[row]
    for each, better in ((large, True), (rng.random(large.shape), False)):
        model = quick_model(deskew="auto", channels=quick_channels("paper")).fit(each, labels)
        assert (model.encoder_.deskew is not None) == bool(chosen(model.selection_)["deskew"]) == better
