"""Random problems, and rows in files."""

import numpy as np
from scipy import sparse

WIDE, TALL = (60, 400, 0.5), (600, 40, 0.2)  # rows, features, density


def noisy(shape, n_classes, seed=0, dtype=np.float64):
    """Rows of unit length, labels of which some are wrong, and 50 more rows."""
    n, d, density = shape
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n + 50, d), density=density, format="csr", rng=rng, data_sampler=rng.standard_normal)
    X = sparse.diags_array(1 / np.maximum(sparse.linalg.norm(X, axis=1), 1e-12)) @ X
    y = np.argmax(X @ rng.normal(size=(d, n_classes)) + 0.3 * rng.normal(size=(n + 50, n_classes)), axis=1)
    y[:n_classes] = np.arange(n_classes)
    X = sparse.csr_array(X.astype(dtype))
    return X[:n], y[:n], X[n:]


def two_classes(shape, dtype=np.float64):
    """Rows, and a sign for each."""
    X, y, _ = noisy(shape, 2, dtype=dtype)
    return X, np.where(y == 1, 1.0, -1.0)


def on_disk(X, folder):
    """The same rows; their arrays are read-only memory maps."""
    arrays = []
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(X, name))
        arrays.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return sparse.csr_array(tuple(arrays), shape=X.shape)
