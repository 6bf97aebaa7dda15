"""A split parts each class as asked, by the seed alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlcn.errors import DDLCNError
from ddlcn.images import ImageSet


@given(
    counts=st.lists(st.integers(2, 9), min_size=1, max_size=4),
    share=st.one_of(st.integers(1, 8), st.floats(0.01, 0.99)),
    seed=st.integers(0, 99),
)
def test_split_parts_each_class_whatever_the_order(counts, share, seed):
    labels = np.repeat([f"c{code}" for code in range(len(counts))], counts)
    paths = [f"{label}/{i}.png" for i, label in enumerate(labels)]
    wanted = [share if share >= 1 else int(share * count + 0.5) for count in counts]
    whole = ImageSet.of(paths, labels)
    if any(not 0 < n < count for n, count in zip(wanted, counts, strict=True)):
        with pytest.raises(DDLCNError, match="too few"):
            whole.split(share, seed)
        return
    train, test = whole.split(share, seed)
    assert np.bincount(train.target).tolist() == wanted
    assert sorted(train.images + test.images) == sorted(paths)
    assert train.target_names is whole.target_names
    order = np.random.default_rng(seed).permutation(len(paths))
    again, _ = ImageSet.of([paths[i] for i in order], labels[order]).split(share, seed)
    assert sorted(again.images) == sorted(train.images)


def test_split_of_arrays_and_halves():
    whole = ImageSet.of(np.arange(5), [0, 0, 0, 1, 1])
    train, test = whole.split(seed=3)
    assert np.bincount(train.target).tolist() == [2, 1]  # half of three, rounded up
    assert sorted(np.concatenate([train.images, test.images])) == list(range(5))
    for share in (0, -1, 0.0, 1.0, 2.5):
        with pytest.raises(DDLCNError, match="per_class"):
            whole.split(share)


def test_views():
    pets = ImageSet.of(["a.png"] * 3, ["dog", "<b>cat", "dog"], "pets/")
    assert repr(pets) == "ImageSet: 3 images of 2 classes from pets/"
    assert repr(replace(pets, skipped=[("x.png", "is empty")])).endswith("pets/, 1 skipped")
    view = pets._repr_html_()
    assert "&lt;b&gt;cat<td>1" in view
    assert "dog<td>2" in view
    many = ImageSet.of(np.zeros((30, 4, 4)), np.arange(30))
    assert "and 10 more" in many._repr_html_()
