import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from ddlcn_lab.kernels.intersection import intersections
from ddlcn_lab.methods.coders import KernelCoder
from ddlcn_lab.methods.spm import HistogramPyramid, IntersectionSVM, PyramidHistograms


def minima(X, Y):
    return np.minimum(X[:, None], Y[None]).sum(axis=2)


def test_intersections():
    X, Y = np.random.default_rng(0).uniform(size=(2, 7, 9)).astype(np.float32)
    np.testing.assert_allclose(intersections(X, Y), minima(X, Y), rtol=1e-6)


def test_histograms_by_definition(pictures):
    images = pictures[0][:10]
    model = PyramidHistograms(12, KernelCoder(n_neighbors=1), HistogramPyramid()).fit(images)
    atoms, found = model.encoder_["codebook"].dictionaries[0], model.encoder_.describe(images[0])["codebook"]
    words = ((found.values[:, None] - atoms) ** 2).sum(axis=2).argmin(axis=1)
    cells = HistogramPyramid().cells(found.positions, found.shape)
    expected = np.zeros((21, 12))
    for word, (whole, quarter, sixteenth) in zip(words, cells, strict=True):
        for cell, weight in ((whole, 0.25), (quarter, 0.25), (sixteenth, 0.5)):  # Lazebnik et al., L = 2
            expected[cell, word] += weight / len(words)
    np.testing.assert_allclose(model.transform(images[:1])[0], expected.ravel(), atol=1e-6)


def test_svm_equals_sklearn(digits):
    X, y, Z, _ = digits
    X, Z = X / X.sum(axis=1, keepdims=True), Z / Z.sum(axis=1, keepdims=True)
    peer = OneVsRestClassifier(SVC(C=10.0, kernel=minima)).fit(X, y)
    ours = IntersectionSVM().fit(X, y).decision_function(Z)
    np.testing.assert_allclose(ours, peer.decision_function(Z), atol=1e-2)
