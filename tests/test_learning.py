"""The steps of training: dictionaries of the right images, features in any parts, copies in their groups."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, vstack

from ddlcn import DDLCNError, ImageEncoder, LinearSVM, learning
from ddlcn.execution import session
from ddlcn.execution.cache import WorkFolder
from ddlcn.layers.dictionary import class_seeds
from ddlcn.preprocessing.augmentation import copies
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.presets import best
from ddlcn.selection import Selection
from ddlcn.training_data import check
from tests.helpers import CountingSIFT, counting_channels, mirrored_digits, quick_channels, quick_model

RANGE = (0.0, 16.0)


@pytest.fixture
def run():
    with session(n_jobs=2) as found:
        yield found


@pytest.fixture(scope="module")
def encoder(digits):
    return quick_model().fit(*digits).encoder_


# --------------------------------------------------------------------------------------------- dictionaries


def test_dictionary_of_each_class(digits, run):
    """Of images that its own seed draws, so that classes can be learnt in any order."""
    images, y = digits
    (sift,) = quick_channels("paper", sift__dictionary__images_per_class=5, sift__dictionary__atoms_per_class=3)
    encoder = learning.learn_encoder([sift], None, RANGE, images, y, 7, run)
    V, U = encoder["sift"].dictionaries
    assert (V.shape, U.shape) == ((12, 128), (6, 128))
    assert_array_equal(encoder["sift"].atom_classes, np.repeat(np.arange(4), 3))
    for c, seed in enumerate(class_seeds(7, 4)):
        drawn = np.sort(np.random.RandomState(seed).permutation(np.flatnonzero(y == c))[:5])
        values = [sift.descriptor.describe(PreparedImage(images[i], RANGE)).values for i in drawn]
        assert_array_equal(V[3 * c : 3 * c + 3], sift.dictionary.learn(sift.dictionary.sample(values), seed))
    assert_array_equal(U, sift.dictionary.learn_deeper(V, 7)[1])
    assert (encoder.value_range, encoder.deskew, encoder.weights) == (RANGE, None, (1.0,))


def test_channel_with_dictionaries_of_another(digits, run):
    sift, grid = quick_channels()
    found = learning.learn_encoder([sift, grid], None, RANGE, *digits, 0, run)
    assert found["sift_grid"].dictionaries == found["sift"].dictionaries[1:]
    assert found["sift_grid"].atom_classes is None
    one_layer = sift.with_params(dictionary__deeper_atoms=())
    alone = learning.learn_encoder([one_layer, grid], (0.3, 0.2), RANGE, *digits, 0, run)
    assert [channel.name for channel in alone.channels] == ["sift"]
    assert np.abs(alone["sift"].dictionaries[0] - found["sift"].dictionaries[0]).max() > 0.01  # of deskewed images
    with pytest.raises(DDLCNError, match="channel 'sift_grid' uses the dictionaries of 'sift': add that channel"):
        learning.learn_encoder([grid], None, RANGE, *digits, 0, run)


@pytest.mark.parametrize("n_components", [5, 500])
def test_reduced_descriptors(digits, run, n_components):
    """Dictionaries of principal components, of which there are no more than features."""
    (sift,) = quick_channels("paper", sift__dictionary__n_components=n_components)
    encoder = learning.learn_encoder([sift], None, RANGE, *digits, 0, run)
    mean, components = encoder["sift"].projection
    assert (mean.shape, components.shape) == ((128,), (min(n_components, 128), 128))
    assert encoder["sift"].dictionary.n_components == len(components)
    assert [each.shape[1] for each in encoder["sift"].dictionaries] == [len(components)] * 2
    again = ImageEncoder.from_dict(encoder.to_dict(), encoder.arrays())
    assert_array_equal(again.transform(digits[0][:3]).toarray(), encoder.transform(digits[0][:3]).toarray())


# ------------------------------------------------------------------------------------------ unseen images, weights


def test_unseen_images_do_not_whiten(digits, run):
    images, y = digits
    covariance = best().channels[3].with_params(descriptor__min_side=40)
    channels = [*quick_channels(sift__dictionary__images_per_class="auto"), covariance]
    unseen = learning.unseen_images(channels, y, 0)
    others = np.where(unseen[:, None, None], 16 - images, images)
    found, same, other = (
        learning.learn_encoder(channels, None, RANGE, each, y, 0, run)["covariance"].projection[0]
        for each in (images, others, 16 - images)
    )
    assert_array_equal(same, found)
    assert not np.array_equal(other, found)


def test_components_of_covariances(digits, run):
    """At most two per patch of a cell: a digit has 66 patches. Both channels use one computation of moments."""
    images, y = digits
    *_, covariance, covariance_grid = best().channels
    moments = []

    class Recording:
        """The run, which notes the calls for moments."""

        def __getattr__(self, name):
            return getattr(run, name)

        def map(self, name, function, calls, *more):
            moments.extend(call for call in calls if function is learning.sum_moments)
            return run.map(name, function, calls, *more)

    encoder = learning.learn_encoder([covariance, covariance_grid], None, RANGE, images, y, 0, Recording())
    assert [len(channel.projection[0]) for channel in encoder.channels] == [64, 2 * 66 // 9]
    assert sum(len(call[0]) for call in moments) == len(images)


def test_dictionaries_are_not_learnt_from_unseen_images(digits, run):
    """Two thirds of the images of a class teach the dictionaries of all channels, the others none."""
    images, y = digits
    sift, grid = quick_channels(sift__dictionary__images_per_class="auto")
    taught = []

    class Recording:
        """The run, which notes the images that teach dictionaries."""

        def __getattr__(self, name):
            return getattr(run, name)

        def map(self, name, function, calls, *more):
            if function is learning.learn_class:
                taught.extend(np.concatenate([call[0] for call in calls]))
            return run.map(name, function, calls, *more)

    learning.learn_encoder([sift, grid, replace(sift, name="other")], None, RANGE, images, y, 0, Recording())
    unseen = learning.unseen_images([sift, grid], y, 0)
    assert_array_equal(np.bincount(y[unseen]), np.bincount(y) - np.round(np.bincount(y) * 2 / 3).astype(int))
    seen = [any(np.array_equal(image, other) for other in taught) for image in images]
    assert_array_equal(unseen, np.logical_not(seen))
    every = sift.with_params(dictionary__images_per_class=None)
    assert not learning.unseen_images([sift, every], y, 0).any()


@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 0.5), (0.0, 1.0)])
def test_rows_by_other_weights(digits, run, weights):
    """Rows that get other weights are those of an encoder with these weights."""
    images, y = digits
    encoder = learning.learn_encoder(
        quick_channels(sift__weight=1.0, sift_grid__weight=1.0), None, RANGE, *digits, 0, run
    )

    class Chosen(Selection):
        """A selection that has these weights."""

        def weights(self, channels, grams):
            """Two Gram matrices of unit length."""
            assert_allclose([np.diagonal(gram) for gram in grams()], 1, rtol=1e-5)
            return list(weights)

    found, rows = learning.weighted(encoder, learning.encoded(encoder, images, run), Chosen(y, 0), run)
    assert found.weights == tuple(weight for weight in weights if weight)
    assert_allclose(rows.toarray(), found.transform(images).toarray(), rtol=1e-5)


def test_gram_matrices_of_a_sample(digits, encoder, run):
    """Those of the blocks of each channel, for some of the rows."""
    sample = np.array([3, 4, 10, 30])
    rows = learning.encoded(encoder, digits[0], run)
    found = learning.channel_grams(encoder, rows, sample, run)
    assert len(found) == len(encoder.channels) > 1
    for gram, own, scale in zip(found, encoder.slices, encoder.scales, strict=True):
        blocks = rows.toarray()[sample][:, own] / scale
        assert_allclose(gram, blocks @ blocks.T, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kept", [(0, 2), (1,)])
def test_rescaled_blocks(kept):
    """Blocks are multiplied and moved; those that are left out may lie between others; rows may be empty."""
    widths, rng = (3, 5, 4), np.random.default_rng(0)
    dense = rng.normal(size=(6, 12)).astype("f4") * (rng.random((6, 12)) < 0.5)
    dense[2] = 0
    encoder = SimpleNamespace(slices=[slice(0, 3), slice(3, 8), slice(8, 12)])
    factors = {n: np.float32(n + 2) for n in kept}
    for dtype in (np.int32, np.int64):
        rows = csr_array(dense)
        rows.indptr = rows.indptr.astype(dtype)
        found = vstack(list(learning.rescaled(encoder, rows, factors)))
        expected = np.concatenate([dense[:, encoder.slices[n]] * factor for n, factor in factors.items()], axis=1)
        assert_array_equal(found.toarray(), expected)
        assert found.shape[1] == sum(widths[n] for n in factors)


# ------------------------------------------------------------------------------------------------- features


@pytest.mark.parametrize("n", [1, 5, 300])
def test_parts_make_up_all_rows(digits, encoder, run, n):
    images = np.tile(digits[0], (7, 1, 1))[:n]
    truth = encoder.transform(images).toarray()
    assert_array_equal(learning.encoded(encoder, images, run).toarray(), truth)
    assert_array_equal(vstack(list(learning.encode(encoder, list(images), run))).toarray(), truth)


# --------------------------------------------------------------------------------------------- augmentation


@pytest.mark.parametrize("policy", ["none", "flip", "affine"])
def test_augmented_rows_and_groups(digits, encoder, run, policy):
    images, y = digits[0][::4], digits[1][::4]
    rows = encoder.transform(images)
    found, every, groups = learning.augmented(policy, encoder, images, rows, Selection(y, 0), run)
    copied, augmentations = copies(policy, y)
    assert found == policy
    assert_array_equal(groups, [*range(12), *copied])
    assert_array_equal(every[:12].toarray(), rows.toarray())
    if policy != "none":
        some = np.arange(0, len(copied), 7)
        truth = encoder.transform(images[copied[some]], [augmentations[n] for n in some])
        assert_array_equal(every[12 + some].toarray(), truth.toarray())


def test_copies_that_judged_are_not_encoded_again(run):
    images, y = mirrored_digits()
    encoder = quick_model(channels=counting_channels()).fit(images, y).encoder_
    rows, results, described = encoder.transform(images), {}, {}
    for setting in ("auto", "affine", "flip"):
        CountingSIFT.calls.clear()
        results[setting] = learning.augmented(setting, encoder, images, rows, Selection(y, 0), run)
        described[setting] = CountingSIFT.calls["sift"]
    assert described == {"auto": 2 * len(y), "affine": 8 * len(y), "flip": len(y)}  # flip wins
    policy, every, groups = results["auto"]
    assert policy != "none"
    assert_array_equal(every.toarray(), results[policy][1].toarray())
    assert_array_equal(groups, results[policy][2])


@pytest.mark.parametrize("policy", ["flip", "affine"])
def test_fit_trains_on_images_and_copies(digits, policy):
    model, data = quick_model(augmentation=policy).fit(*digits), check(quick_model(), *digits)
    copied, augmentations = copies(policy, data.y)
    rows = [model.transform(data.images), model.encoder_.transform(data.images[copied], augmentations)]
    truth = LinearSVM(1.0, tol=1e-9).fit(vstack(rows, format="csr"), data.y[np.r_[np.arange(48), copied]])
    assert_allclose(model.decision_function(data.images), truth.decision_function(rows[0]), atol=1e-2)
    assert (model.augmentation_, model.n_train_) == (policy, 48)


@pytest.mark.parametrize("n_components", [None, 8])
def test_entries_of_another_shape_are_computed_again(digits, tmp_path, n_components):
    """Whoever writes to the folder can change the shape of arrays and write the right digest."""
    covariance = best().channels[3].with_params(descriptor__min_side=40, weight=1.0)
    channels = [*quick_channels("paper", sift__dictionary__n_components=n_components), covariance]
    model, folder = quick_model(channels=channels, work_folder=tmp_path), WorkFolder(tmp_path)
    expected = model.fit(*digits).svm_.coef_
    names = [name for name in sorted(folder.names()) if not name.startswith("training")]
    good = {name: folder.read(name) for name in names}
    forged = (lambda found: found[:, :-1], lambda found: found[:-1], lambda found: {"a": np.zeros(3)})
    for number, name in enumerate(name for name in names if name[:11] != "descriptors"):  # of any number
        with folder.in_use():
            folder.write(name, forged[number % 3](good[name]))
    with pytest.warns(UserWarning, match="another type or shape than its task's: it is computed again"):
        assert_array_equal(model.fit(*digits).svm_.coef_, expected)
