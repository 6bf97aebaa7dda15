"""The embedding term by its definition; needs torch."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ddlcn_lab.methods.embedding import EmbedCNN, embedding_loss


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'ddlcn[cnn]'")


def test_loss_by_definition(torch):
    f, g = np.random.default_rng(0).normal(size=(2, 6, 3)) * 0.4
    distances = np.linalg.norm(f - g, axis=1)
    tensors = torch.from_numpy(f), torch.from_numpy(g)
    assert float(embedding_loss(torch, *tensors, None)) == pytest.approx(np.mean(distances**2))
    assert float(embedding_loss(torch, *tensors, 1.0)) == pytest.approx(np.mean(np.maximum(0, 1 - distances) ** 2))


def test_neighbors_by_definition(torch, pictures):
    images, y, *_ = pictures
    model = EmbedCNN(epochs=1, n_neighbors=3).fit(images, y)
    far = cdist(*(images.reshape(len(images), -1),) * 2)
    np.fill_diagonal(far, np.inf)
    np.testing.assert_array_equal(np.sort(model.neighbors_), np.sort(np.argsort(far)[:, :3]))


def test_neighbors_get_similar_outputs(torch, pictures):
    images, y, *_ = pictures

    def ratio(model):
        f = model.fit(images, y).decision_function(images)
        return np.linalg.norm(f - f[model.neighbors_[:, 0]], axis=1).mean() / cdist(f, f).mean()

    alone, both = ratio(EmbedCNN(embedding=0.0)), ratio(EmbedCNN(embedding=1.0))
    assert both < 0.9 * alone
