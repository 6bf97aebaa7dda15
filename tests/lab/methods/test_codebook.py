import numpy as np
import pytest

from ddlcn.layers.pooling import SpatialPyramid
from ddlcn_lab.methods.codebook import CodebookFeatures, MeanPyramid
from ddlcn_lab.methods.coders import KernelCoder, LassoCoder


@pytest.mark.parametrize(
    ("coder", "pooling", "pool"),
    [(LassoCoder(0.1, absolute=True), SpatialPyramid(), np.max), (KernelCoder(), MeanPyramid(), np.mean)],
)
def test_feature_by_definition(pictures, coder, pooling, pool):
    images = pictures[0][:10]
    model = CodebookFeatures(20, coder, pooling).fit(images)
    atoms, descriptors = model.encoder_["codebook"].dictionaries[0], model.encoder_.describe(images[0])["codebook"]
    codes, cells = coder.encode(descriptors.values, atoms).dense(20), pooling.cells(*descriptors[1:3])
    expected = np.zeros((21, 20))
    for cell in np.unique(cells):
        expected[cell] = pool(codes[(cells == cell).any(axis=1)], axis=0)
    row = model.transform(images[:1]).toarray().ravel()
    np.testing.assert_allclose(row, expected.ravel() / np.linalg.norm(expected), atol=1e-5)
