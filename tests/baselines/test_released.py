"""The released pipeline against SPAMS, which the authors called, and against its own rules by brute force."""

import numpy as np
import pytest

from ddlcn.baselines.released import ReleasedClassifier, ReleasedCoder, ReleasedNetwork
from ddlcn.errors import DDLCNError
from ddlcn.kernels.lasso import weighted_lasso
from ddlcn.layers.coding import Codes
from ddlcn.layers.pyramid import SpatialPyramid

from ..oracles.weighted_lasso import gap


def unit(rng, n):
    rows = np.abs(rng.normal(size=(n, 128))).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


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
def test_without_a_stop_the_lasso_is_optimal(n_atoms):
    rng = np.random.default_rng(n_atoms)
    Y, D = unit(rng, 10).astype(float), unit(rng, n_atoms).astype(float)
    weights = rng.uniform(0.01, 2, size=(len(Y), n_atoms))
    for y, w in zip(Y, weights, strict=True):
        assert gap(y, D, code(y, D, w, 0.05, min(n_atoms, 128)), w, 0.05) < 1e-8


@pytest.mark.parametrize(("n_atoms", "k"), [(20, 15), (60, 15), (300, 15), (32, 10)])
def test_codes_are_those_of_spams(n_atoms, k):
    spams = pytest.importorskip("spams")
    rng = np.random.default_rng(n_atoms)
    Y, D = unit(rng, 50), unit(rng, n_atoms)
    columns = [np.asfortranarray(a.T.astype(float)) for a in (Y, D, released_weights(Y, D, k))]
    theirs = spams.lassoWeighted(
        columns[0], D=columns[1], W=columns[2], L=k, lambda1=0.15, mode=2, numThreads=1
    )
    ours = ReleasedCoder(n_neighbors=k).encode(Y, D).dense(n_atoms)
    np.testing.assert_allclose(ours, theirs.toarray().T, atol=2e-5)


def test_nearest_atoms_are_never_used():
    rng = np.random.default_rng(0)
    Y, D = unit(rng, 30), unit(rng, 80)
    near = released_weights(Y, D, 15) > 1
    assert not ReleasedCoder().encode(Y, D).dense(80)[near].any()


def test_duplicate_and_zero_atoms_do_no_harm():
    rng = np.random.default_rng(0)
    D = unit(rng, 20)
    atoms = np.concatenate([D, D, np.zeros((3, 128), np.float32)])
    assert np.isfinite(ReleasedCoder(5).encode(unit(rng, 10), atoms).values).all()


@pytest.mark.parametrize("n_zero", [0, 1])
def test_second_layer_by_slot(n_zero):
    """One descriptor: the feature is its code, then g of each used atom by rank, or of the first atoms."""
    rng = np.random.default_rng(1)
    V, U = unit(rng, 12), unit(rng, 6)
    network = ReleasedNetwork([V, U], [ReleasedCoder(3), ReleasedCoder(2)], SpatialPyramid((1,)))
    values = np.array([[0.5, -0.25, 0.75]], np.float32)
    values[:, :n_zero] = 0
    codes = Codes(np.array([[4, 7, 9]], np.int32), values)
    columns, data = network._row(codes, network.pyramid.cells(np.zeros((1, 2)), (16, 16)))
    row = np.zeros(network.n_features)
    row[columns] = data
    g = ReleasedCoder(2).encode(V, U).dense(6)
    gamma = codes.dense(12)[0]
    slots = (4, 7, 9) if n_zero == 0 else (0, 1, 2)
    expected = np.concatenate([gamma, *(gamma[j] * g[j] for j in slots)])
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-6)


def test_refuses_what_it_can_not(tmp_path):
    model = ReleasedClassifier(preset="paper", deeper_atoms=(32,))
    with pytest.raises(DDLCNError, match="no model file"):
        model.save(tmp_path / "x.ddlcn")
    with pytest.raises(DDLCNError, match="can't explain"):
        model.explain(None)
