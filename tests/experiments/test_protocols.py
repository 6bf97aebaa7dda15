"""Splits: sizes, disjointness, nesting, determinism, and a leak that must be asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlcn.errors import DDLCNError
from ddlcn.experiments.protocols import draw_split
from ddlcn.images import ImageSet


def some_images(counts, seed=0):
    labels = np.repeat(np.arange(len(counts)), counts)
    return ImageSet.of(np.zeros((len(labels), 2, 2)), np.random.default_rng(seed).permutation(labels))


def per_class(images, rows):
    return np.bincount(images.target[rows], minlength=len(images.target_names)).tolist()


@given(
    st.lists(st.integers(8, 20), min_size=2, max_size=4),
    st.integers(1, 7),
    st.none() | st.integers(1, 9),
    st.integers(0, 5),
)
def test_sizes_and_disjointness(counts, t, p, split):
    images = some_images(counts)
    train, test, dictionary = draw_split(images, t, p, split)
    assert sorted([*train, *test]) == list(range(len(images)))
    assert per_class(images, train) == [t] * len(counts)
    assert set(dictionary) <= set(train)
    assert per_class(images, dictionary) == [t if p is None else min(p, t)] * len(counts)


def test_half_is_rounded_up():
    images = some_images([59, 64])
    train, test, _ = draw_split(images, 0.5, None, 0)
    assert per_class(images, train) == [30, 32]
    assert per_class(images, test) == [29, 32]


def test_training_sets_are_nested_and_share_dictionary_images():
    images = some_images([20, 20])
    small, large = (draw_split(images, t, 3, 1) for t in (5, 12))
    assert set(small.train) < set(large.train)
    np.testing.assert_array_equal(small.dictionary, large.dictionary)


def test_splits_are_reproducible_and_differ():
    images = some_images([20, 20])
    a, again, other, seeded = (
        draw_split(images, 5, 3, split, seed) for split, seed in ((0, 0), (0, 0), (1, 0), (0, 1))
    )
    np.testing.assert_array_equal(a.train, again.train)
    assert a.train.tolist() != other.train.tolist()
    assert a.train.tolist() != seeded.train.tolist()


def test_same_files_whatever_their_order():
    names = [f"{n:02}.png" for n in range(20)]
    forth = ImageSet.of(names, ["a", "b"] * 10)
    back = ImageSet.of(names[::-1], ["b", "a"] * 10)
    drawn = [{images.paths[row] for row in draw_split(images, 4, 2, 0).train} for images in (forth, back)]
    assert drawn[0] == drawn[1]


def test_own_test_set_is_never_trained_on():
    images = some_images([20, 20])
    own = np.arange(30, 40)
    for t in (None, 3):
        train, test, dictionary = draw_split(images, t, None, 0, own_test=own)
        np.testing.assert_array_equal(test, own)
        assert not set(own) & {*train, *dictionary}
    assert len(draw_split(images, None, 1, 0, own_test=own).train) == 30


def test_only_the_leak_sees_test_images():
    images = some_images([20, 20])
    honest, leaked = (draw_split(images, 5, None, 0, leak=leak) for leak in (False, True))
    np.testing.assert_array_equal(honest.train, leaked.train)
    assert len(leaked.dictionary) == 40
    assert set(leaked.dictionary) & set(leaked.test)


def test_too_few_images_is_an_error():
    with pytest.raises(DDLCNError, match="class '1' has 4 image"):
        draw_split(some_images([9, 4]), 4, None, 0)
