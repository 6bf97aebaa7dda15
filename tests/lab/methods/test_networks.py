"""Networks layer by layer against SciPy; needs torch."""

import numpy as np
import pytest
from scipy.ndimage import correlate

from ddlcn import DDLCNError
from ddlcn_lab.methods.networks import FrozenFeatures, SmallCNN
from ddlcn_lab.methods.registry import get_method


def _convolve(maps, weight, bias):
    """One convolution and ReLU, from the definition: each output is a sum of 2-D correlations."""
    out = [sum(correlate(m, k, mode="constant") for m, k in zip(maps, w, strict=True)) for w in weight]
    return np.maximum(np.stack(out) + bias[:, None, None], 0)


def _halve(maps):
    height, width = maps.shape[1] // 2 * 2, maps.shape[2] // 2 * 2
    return maps[:, :height, :width].reshape(len(maps), height // 2, 2, width // 2, 2).max(axis=(2, 4))


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'ddlcn[cnn]'")


@pytest.fixture
def weights(torch, tmp_path):
    """A file of random weights in the layout of a VGG: two convolutions, a maximum, one convolution."""
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    )  # fmt: skip
    torch.save({f"features.{key}": value for key, value in net.state_dict().items()}, tmp_path / "vgg.pth")
    return tmp_path / "vgg.pth"


def test_frozen_features(weights, torch):
    images = np.random.default_rng(0).uniform(size=(2, 12, 10))
    state = {key: value.numpy() for key, value in torch.load(weights, weights_only=True).items()}
    rows = FrozenFeatures(weights).fit_transform(images)
    for image, row in zip(images, rows, strict=True):
        maps = (image - np.array([[[0.485]], [[0.456]], [[0.406]]])) / np.array([[[0.229]], [[0.224]], [[0.225]]])
        for place in (0, 2, 5):
            maps = _halve(maps) if place == 5 else maps
            maps = _convolve(maps, state[f"features.{place}.weight"], state[f"features.{place}.bias"])
        np.testing.assert_allclose(row, maps.mean(axis=(1, 2)), atol=1e-4)


def test_small_network_by_definition(pictures, torch):
    images, labels, *_ = pictures
    model = SmallCNN(epochs=1).fit(images, labels)
    parts = {key: value.numpy() for key, value in model.network_.state_dict().items()}
    maps = (images[:1] - model.mean_) / model.spread_
    for place in (0, 3, 6):
        maps = _halve(_convolve(maps, parts[f"{place}.weight"], parts[f"{place}.bias"]))
    hidden = np.maximum(parts["10.weight"] @ maps.ravel() + parts["10.bias"], 0)
    expected = parts["13.weight"] @ hidden + parts["13.bias"]
    np.testing.assert_allclose(model.decision_function(images[:1])[0], expected, atol=1e-3)


def test_small_network_in_color(torch):
    rng = np.random.default_rng(0)
    images = rng.uniform(0, 0.1, (20, 16, 16, 3))
    labels = np.arange(20) % 2
    images[np.arange(20), :, :, 2 * labels] += 0.9  # red or blue
    model = SmallCNN(epochs=10, color=True).fit(images[:10], labels[:10])
    assert model.network_[0].weight.shape[1] == 3
    assert (model.predict(images[10:]) == labels[10:]).all()


def test_global_random_state(pictures, torch):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    SmallCNN(epochs=1).fit(*pictures[:2])
    assert torch.rand(1) == expected


def test_frozen_vgg(pictures, weights):
    images, labels, others, truth = pictures
    model = get_method(f"frozen-vgg:frozenfeatures__weights={weights}").make(5, 5, 0, None).fit(list(images), labels)
    assert np.mean(model.predict(list(others)) == truth) > 0.35  # random filters; chance is 0.2


def test_missing_and_damaged_weights(pictures, torch, tmp_path):
    with pytest.raises(DDLCNError, match="frozenfeatures__weights"):
        FrozenFeatures().fit(pictures[0])
    (tmp_path / "x.pth").write_bytes(b"no weights")
    with pytest.raises(DDLCNError, match=r"x\.pth"):
        FrozenFeatures(tmp_path / "x.pth").fit(pictures[0])
