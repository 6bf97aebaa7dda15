"""The pipeline that a good user would write from the parts at hand, to race against; one thread.

NumPy dense SIFT by the authors' formulas, SPAMS dictionaries, NumPy LLC or SPAMS's weighted lasso,
max-pooling, LinearSVC.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import spams
from PIL import Image
from scipy.ndimage import correlate
from scipy.sparse import csr_array, vstack
from sklearn.svm import LinearSVC

from ddlcn.images import ImageSet

PATCH, STEP, NEAREST = 16, 6, 15
Coder = Callable[[np.ndarray, np.ndarray], np.ndarray]


def accuracy(train: ImageSet, test: ImageSet, p: int, q: int, coder: Coder) -> float:
    """Train and test on image files; dictionaries see the first p images of each class."""
    V = np.concatenate(
        [
            _dictionary([train.images[row] for row in np.flatnonzero(train.target == code)[:p]], q)
            for code in range(len(train.target_names))
        ]
    )
    svm = LinearSVC(C=1).fit(vstack([_row(path, V, coder) for path in train.images]), train.target)
    return float(svm.score(vstack([_row(path, V, coder) for path in test.images]), test.target))


def _grey(path: str) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L"), dtype=np.float32) / 255


def _dictionary(paths: list[str], q: int) -> np.ndarray:
    columns = np.asfortranarray(np.concatenate([dense_sift(_grey(path)) for path in paths]).T, np.float64)
    D = spams.trainDL(columns, K=q, lambda1=0.35, mode=0, iter=500, numThreads=1, verbose=False)
    return D.T.astype(np.float32)


def _gradient_filters() -> list[np.ndarray]:
    t = np.arange(-2, 3)
    gauss = np.exp(-(t[:, None] ** 2 + t**2) / (2 * 0.8**2))
    return [(2 * f / np.abs(f).sum()).astype(np.float32) for f in np.gradient(gauss / gauss.sum())]


def _cells(side: int) -> tuple[np.ndarray, np.ndarray]:
    """First pixels of the patches along a side, and the weights (patches · 4, side) of their cells."""
    starts = np.arange((side - PATCH) % STEP // 2, side - PATCH + 1, STEP)
    centres = (starts[:, None] + (np.arange(4) + 0.5) * PATCH / 4 - 0.5).reshape(-1, 1)
    return starts, np.maximum(0, 1 - np.abs(np.arange(side) - centres) / (PATCH / 4)).astype(np.float32)


def dense_sift(image: np.ndarray) -> np.ndarray:
    """Descriptors (n, 128) of a grey image: two matrix products sum energy into cells of all patches."""
    dy, dx = (correlate(image, f, mode="constant") for f in _gradient_filters())
    cosines = np.cos(np.arctan2(dy, dx)[..., None] - np.arange(8, dtype=np.float32) * np.float32(np.pi / 4))
    energy = np.hypot(dy, dx)[..., None] * np.maximum(cosines, 0) ** 9
    (rows, down), (columns, across) = (_cells(side) for side in image.shape)
    sums = np.tensordot(across, np.tensordot(down, energy, 1), (1, 1))  # (x · 4, y · 4, 8)
    sums = sums.reshape(len(columns), 4, len(rows), 4, 8).transpose(2, 0, 1, 3, 4).reshape(-1, 128)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    clipped = np.minimum(sums / np.where(norms >= 1, norms, 1), 0.2)
    return np.where(norms >= 1, clipped / np.maximum(np.linalg.norm(clipped, axis=1, keepdims=True), 1e-9), clipped)


def llc(Y: np.ndarray, V: np.ndarray) -> np.ndarray:
    """LLC codes (n, s), dense."""
    distances = (V**2).sum(axis=1) - 2 * Y @ V.T
    near = np.argpartition(distances, NEAREST, axis=1)[:, :NEAREST]
    Z = V[near] - Y[:, None]
    C = Z @ Z.transpose(0, 2, 1)
    C += 1e-4 * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(NEAREST, dtype=np.float32)
    gamma = np.linalg.solve(C, np.ones((len(Y), NEAREST, 1), np.float32))[..., 0]
    codes = np.zeros((len(Y), len(V)), np.float32)
    np.put_along_axis(codes, near, gamma / gamma.sum(axis=1, keepdims=True), axis=1)
    return codes


def weighted_lasso(Y: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Codes (n, s) with a price of 0.01 times its distance for each atom, 15 atoms at most, dense."""
    squares = (V**2).sum(axis=1)[:, None] - 2 * V @ Y.T + (Y**2).sum(axis=1)
    columns = (np.asfortranarray(part, np.float64) for part in (Y.T, V.T, np.sqrt(np.maximum(squares, 1e-12))))
    return spams.lassoWeighted(*columns, L=NEAREST, lambda1=0.01, numThreads=1).toarray().T.astype(np.float32)


def _row(path: str, V: np.ndarray, coder: Coder) -> csr_array:
    image = _grey(path)
    codes = coder(dense_sift(image), V)
    centres = [_cells(side)[0] + (PATCH + 1) / 2 for side in image.shape]  # counted from 1
    pooled = []
    for level in (1, 2, 4):
        row, column = (np.ceil(c * level / side) - 1 for c, side in zip(centres, image.shape, strict=True))
        cell = (row[:, None] * level + column).ravel()
        pooled += [codes[cell == each].max(axis=0) for each in range(level * level)]
    feature = np.concatenate(pooled)
    return csr_array((feature / np.linalg.norm(feature))[None])
