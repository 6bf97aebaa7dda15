"""Accuracy of preset `paper` on the real data: no less than the paper says, one seed of each."""

import pytest

from ddlcn import DDLCNClassifier, load_images

pytestmark = [pytest.mark.data, pytest.mark.slow]


@pytest.fixture(scope="module")
def faces(data_dir):
    return load_images(data_dir / "extended_yale_b" / "CroppedYale").split(0.5, seed=0)


@pytest.mark.parametrize(("setting", "published"), [((1, 1), 0.8742), ((15, 15), 0.9738)])
def test_extended_yale_b(faces, setting, published):
    train, test = faces
    assert len(train) + len(test) == 2414
    model = DDLCNClassifier("paper", None, *setting, n_jobs=-1).fit(train.images, train.target)
    assert model.score(test.images, test.target) >= published


def test_mnist(data_dir):
    train, test = (load_images(data_dir / "mnist", part=part) for part in ("train", "test"))
    assert (len(train), len(test)) == (60_000, 10_000)
    model = DDLCNClassifier("paper", None, 100, 100, n_jobs=-1).fit(train.images, train.target)
    assert model.score(test.images, test.target) >= 0.9855
