import numpy as np

from ddlcn.layers.coding import LocalityCoder
from ddlcn_lab.methods.dcn import DeepCoding


def test_features_by_definition(three_digits):
    X = three_digits[0].astype(np.float32)
    model = DeepCoding(6, 4, (3, 2), balance=0.5).fit(X)
    rows = model.transform(X[:5]).toarray()
    for x, row in zip(X[:5], rows, strict=True):
        first = LocalityCoder(3).encode(x[None], model.first_).dense(6)[0]
        parts = [0.5 * first]
        for code, codebook in zip(first, model.second_, strict=True):
            parts.append(code * LocalityCoder(min(2, len(codebook))).encode(x[None], codebook).dense(len(codebook))[0])
        np.testing.assert_allclose(row, np.concatenate(parts), atol=1e-5)


def test_second_layer_fits_within_anchors(digits):
    """Σ_v γ_v Σ_u γ_u^v u is nearer to x than Σ_v γ_v v: the second layer refines each anchor."""
    X = (digits[0] / np.linalg.norm(digits[0], axis=1, keepdims=True)).astype(np.float32)
    model = DeepCoding(5, 10, (3, 5)).fit(X)
    rows = model.transform(X).toarray()
    one, two = rows[:, :5] @ model.first_, rows[:, 5:] @ np.concatenate(model.second_)
    assert np.linalg.norm(X - two) < 0.8 * np.linalg.norm(X - one)
