import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from ddlcn_lab.methods.hmp import MultipathFeatures

pytest.importorskip("dictlearn")


@pytest.fixture(scope="module")
def images(pictures):
    """With some noise, since scikit-learn's pursuit warns of patches without contrast."""
    return pictures[0] + np.random.default_rng(0).uniform(0, 0.2, size=pictures[0].shape)


@pytest.fixture(scope="module")
def model(images):
    return MultipathFeatures(small_atoms=12, atoms=20, small_sparsity=3, sparsity=4).fit(images)


def _damped(row):
    return row / (np.linalg.norm(row) + 0.1)


def _codes(rows, atoms, most):
    return orthogonal_mp(atoms.T, np.array(rows).T, n_nonzero_coefs=most).T


def test_feature_by_definition(model, images):
    """Patch by patch in plain loops, coded by scikit-learn's matching pursuit."""
    grey = model._grey(images[0])
    edged = np.pad(grey, 2, "edge")
    small = [edged[y : y + 5, x : x + 5].ravel() for y in range(32) for x in range(32)]
    maps = _codes([_damped(p - p.mean()) for p in small], model.small_, 3).reshape(32, 32, 12)
    cells = np.zeros((8, 8, 24))
    for y in range(8):
        for x in range(8):
            cell = maps[4 * y : 4 * y + 4, 4 * x : 4 * x + 4].reshape(16, 12)
            cells[y, x] = np.concatenate([np.maximum(cell, 0).max(axis=0), np.maximum(-cell, 0).max(axis=0)])
    places = [(y, x) for y in range(5) for x in range(5)]
    blocks = [_damped(np.moveaxis(cells[y : y + 4, x : x + 4], 2, 0).ravel()) for y, x in places]
    pixels = [grey[4 * y : 4 * y + 16, 4 * x : 4 * x + 16].ravel() for y, x in places]
    expected = []
    for rows, atoms in ((pixels, model.patch_), (blocks, model.block_)):
        rows = [_damped(row - row.mean()) for row in rows] if atoms is model.patch_ else rows
        codes = np.abs(_codes(rows, atoms, 4))
        pooled = []
        for level in (1, 2, 4):
            grid = np.zeros((level, level, 20))
            for (y, x), code in zip(places, codes, strict=True):
                # the centre, counted from 1, and the cell whose far edge it does not pass
                row, column = (int(np.ceil((4 * at + 8 + 1) * level / 32)) - 1 for at in (y, x))
                grid[row, column] = np.maximum(grid[row, column], code)
            pooled.append(grid.ravel())
        path = np.concatenate(pooled)
        expected.append(path / np.linalg.norm(path))
    np.testing.assert_allclose(model.transform(images[:1])[0], np.concatenate(expected), atol=1e-5)
