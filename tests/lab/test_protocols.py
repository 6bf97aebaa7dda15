"""Splits: sizes, disjointness, nesting, determinism, and the leak."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlcn.errors import DDLCNError
from ddlcn.images import ImageSet
from ddlcn_lab.protocols import draw_leaked, draw_split


def some_images(counts, seed=0):
    labels = np.repeat(np.arange(len(counts)), counts)
    return ImageSet.of(np.zeros((len(labels), 2, 2)), np.random.default_rng(seed).permutation(labels))


def per_class(images, rows):
    return np.bincount(images.target[rows], minlength=len(images.target_names)).tolist()


@given(
    st.lists(st.integers(8, 20), min_size=2, max_size=4),
    st.just(0.5) | st.integers(1, 7),
    st.integers(0, 5),
    st.none() | st.integers(1, 9),
)
def test_sizes_and_disjointness(counts, t, split, most_test):
    images = some_images(counts)
    train, test = draw_split(images, t, split, most_test=most_test)
    wanted = [(n + 1) // 2 if t == 0.5 else t for n in counts]
    assert not set(train) & set(test)
    assert per_class(images, train) == wanted
    assert per_class(images, test) == [min(n - w, most_test or n) for n, w in zip(counts, wanted, strict=True)]


def test_seeds():
    images = some_images([20, 20])
    a, again, other, seeded = (draw_split(images, 5, split, seed) for split, seed in ((0, 0), (0, 0), (1, 0), (0, 1)))
    np.testing.assert_array_equal(a.train, again.train)
    assert a.train.tolist() != other.train.tolist()
    assert a.train.tolist() != seeded.train.tolist()
    assert set(a.train) < set(draw_split(images, 12, 0).train)  # nested


def test_order_of_files():
    names = [f"{n:02}.png" for n in range(20)]
    forth = ImageSet.of(names, ["a", "b"] * 10)
    back = ImageSet.of(names[::-1], ["b", "a"] * 10)
    drawn = [{images.paths[row] for row in draw_split(images, 4, 0).train} for images in (forth, back)]
    assert drawn[0] == drawn[1]


def test_own_test_set():
    images = some_images([20, 20])
    own = np.arange(30, 40)
    for t in (None, 3):
        train, test = draw_split(images, t, 0, own_test=own)
        np.testing.assert_array_equal(test, own)
        assert not set(own) & set(train)
    assert len(draw_split(images, None, 0, own_test=own).train) == 30


def test_leak():
    images = some_images([20, 20])
    assert per_class(images, draw_leaked(images, 7, 0)) == [7, 7]
    assert len(draw_leaked(images, None, 0)) == 40
    assert set(draw_leaked(images, 15, 0)) & set(draw_split(images, 5, 0).test)


def test_too_few_images():
    with pytest.raises(DDLCNError, match="class '1' has 4 image"):
        draw_split(some_images([9, 4]), 4, 0)
