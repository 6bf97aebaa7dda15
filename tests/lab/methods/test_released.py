"""The authors' pipeline against SPAMS, which they call, and against its definition."""

import numpy as np
import pytest

from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import Codes
from ddlcn.layers.patches import Descriptors
from ddlcn.layers.pooling import SpatialPyramid
from ddlcn_lab.kernels.lasso import weighted_lasso
from ddlcn_lab.methods.released import ReleasedChannel, ReleasedClassifier, ReleasedCoder, with_slots
from tests.helpers import unit_rows
from tests.oracles.weighted_lasso import gap


def code(y, D, weights, penalty, most):
    active, alpha = np.empty(most, np.int64), np.empty(most)
    m = weighted_lasso(D @ D.T, D @ y, weights, penalty, active, alpha)
    out = np.zeros(len(D))
    out[active[:m]] = alpha[:m]
    return out


def released_weights(Y, D, k):
    zeta = np.sqrt(((Y[:, None] - D[None]) ** 4).sum(axis=2))
    nearest = np.argsort(zeta, axis=1)[:, :k]
    weights = np.full(zeta.shape, 0.01)
    np.put_along_axis(weights, nearest, 10 / np.take_along_axis(zeta, nearest, axis=1), axis=1)
    return weights


@pytest.mark.parametrize("n_atoms", [5, 40, 200])
def test_lasso_is_optimal(n_atoms):
    rng = np.random.default_rng(n_atoms)
    Y, D = unit_rows(rng, 10, 128).astype(float), unit_rows(rng, n_atoms, 128).astype(float)
    weights = rng.uniform(0.01, 2, size=(len(Y), n_atoms))
    for y, w in zip(Y, weights, strict=True):
        assert gap(y, D, code(y, D, w, 0.05, min(n_atoms, 128)), w, 0.05) < 1e-8


@pytest.mark.parametrize(("n_atoms", "k"), [(20, 15), (60, 15), (300, 15), (32, 10)])
def test_codes_equal_spams(n_atoms, k):
    spams = pytest.importorskip("spams")
    rng = np.random.default_rng(n_atoms)
    Y, D = unit_rows(rng, 50, 128), unit_rows(rng, n_atoms, 128)
    columns = [np.asfortranarray(a.T.astype(float)) for a in (Y, D, released_weights(Y, D, k))]
    theirs = spams.lassoWeighted(columns[0], D=columns[1], W=columns[2], L=k, lambda1=0.15, mode=2, numThreads=1)
    ours = ReleasedCoder(n_neighbors=k).encode(Y, D).dense(n_atoms)
    np.testing.assert_allclose(ours, theirs.toarray().T, atol=2e-5)


def test_duplicate_and_zero_atoms():
    rng = np.random.default_rng(0)
    D = unit_rows(rng, 20, 128)
    atoms = np.concatenate([D, D, np.zeros((3, 128), np.float32)])
    assert np.isfinite(ReleasedCoder(5).encode(unit_rows(rng, 10, 128), atoms).values).all()


@pytest.mark.parametrize("n_zero", [0, 1])
def test_second_layer_by_slot(n_zero):
    """The codes, then those of each used atom by rank, or of the first atoms."""
    table = np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    values = np.array([[0.5, -0.25, 0.75]], np.float32)
    values[:, :n_zero] = 0
    codes = Codes(np.array([[4, 7, 9]], np.int32), values)
    gamma = codes.dense(12)[0]
    slots = (4, 7, 9) if n_zero == 0 else (0, 1, 2)
    expected = np.concatenate([gamma, *(gamma[j] * table[j] for j in slots)])
    np.testing.assert_allclose(with_slots(codes, table)[0], expected, atol=1e-6)


def test_block_by_definition():
    rng = np.random.default_rng(2)
    V, U, values = unit_rows(rng, 12, 128), unit_rows(rng, 6, 128), unit_rows(rng, 9, 128)
    positions = rng.uniform(0, 16, size=(9, 2)).astype(np.float32)
    coders = {"coder": ReleasedCoder(3), "deeper_coder": ReleasedCoder(2)}
    channel = ReleasedChannel("sift", None, pooling=SpatialPyramid((1, 2)), **coders).learnt((V, U))
    table, cells = ReleasedCoder(2).encode(V, U).dense(6), channel.pooling.cells(positions, (16, 16))
    every = with_slots(ReleasedCoder(3).encode(values, V), table)
    expected = np.zeros((5, every.shape[1]))
    for cell in range(5):
        if (inside := (cells == cell).any(axis=1)).any():
            expected[cell] = every[inside].max(axis=0)
    [(columns, found)] = channel.blocks([Descriptors(values, positions, (16, 16), None)])
    row = np.zeros(channel.n_features)
    row[columns] = found
    np.testing.assert_allclose(row, expected.ravel() / np.linalg.norm(expected), atol=1e-6)


def test_save_and_explain_refused(tmp_path):
    with pytest.raises(DDLCNError, match="no model file"):
        ReleasedClassifier().save(tmp_path / "x.ddlcn")
    with pytest.raises(DDLCNError, match="can't explain"):
        ReleasedClassifier().explain(None)
