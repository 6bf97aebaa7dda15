import numpy as np
import pytest

from ddlcn import DDLCNError
from ddlcn.baselines import memory
from ddlcn.baselines.inputs import Pixels, RandomFaces


def test_random_faces_are_projections_on_unit_directions():
    images = np.random.default_rng(0).uniform(size=(3, 6, 5))
    model = RandomFaces(n_features=7, random_state=3).fit(images)
    np.testing.assert_allclose(np.linalg.norm(model.projection_, axis=1), 1, rtol=1e-6)
    low, high = model.value_range_
    expected = (images.reshape(3, -1) - low) / (high - low) @ model.projection_.T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(images), expected, rtol=1e-4, atol=1e-6)


def test_same_seed_same_faces():
    images = np.random.default_rng(0).uniform(size=(3, 6, 5))
    first, again, other = (RandomFaces(9, random_state=s).fit_transform(images) for s in (1, 1, 2))
    assert (first == again).all()
    assert not np.allclose(first, other)


def test_longest_side_shrinks_and_keeps_the_shape():
    assert Pixels(longest_side=96).fit([np.zeros((192, 168))]).shape_ == (96, 84)


def test_too_much_is_refused_before_it_is_held(monkeypatch):
    monkeypatch.setattr(memory, "LARGEST", 100)
    with pytest.raises(DDLCNError, match="longest_side"):
        Pixels().fit_transform(np.zeros((4, 8, 8)))
