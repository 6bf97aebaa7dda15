import numpy as np

from ddlcn_lab.methods.inputs import Pixels, RandomFaces


def test_random_faces():
    images = np.random.default_rng(0).uniform(size=(3, 6, 5))
    model = RandomFaces(n_features=7, random_state=3).fit(images)
    np.testing.assert_allclose(np.linalg.norm(model.projection_, axis=1), 1, rtol=1e-6)
    low, high = model.value_range_
    expected = (images.reshape(3, -1) - low) / (high - low) @ model.projection_.T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(images), expected, rtol=1e-4, atol=1e-6)


def test_longest_side():
    assert Pixels(longest_side=96).fit([np.zeros((192, 168))]).shape_ == (96, 84)
