"""Codes: KKT, an independent solver, and every degenerate case that the issue names."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.layers import coding
from ddlcn.layers.coding import LLCCoder, LocalityCoder
from tests.oracles import locality

BETAS = [0.0, 0.001, 0.01, 0.15, 1.0, 1e4]


def points(seed, n, m=16):
    """Rows of about unit length, positive as SIFT's are, so that neighbours are alike."""
    rows = np.abs(np.random.default_rng(seed).normal(size=(n, m))) ** 2
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def assert_exact(Y, atoms, beta, k=15, tolerance=1e-5):
    """Neighbours as by a sort, sums of one, KKT, and an objective no worse than the independent solver's."""
    Y, atoms = np.asarray(Y, np.float32), np.asarray(atoms, np.float32)  # as the coder takes them
    codes, k = LocalityCoder(n_neighbors=k, beta=beta).encode(Y, atoms), min(k, len(atoms))
    assert codes.indices.shape == codes.values.shape == (len(Y), k)
    assert (codes.indices.dtype, codes.values.dtype) == (np.int32, np.float32)
    Y, atoms = Y.astype(float), atoms.astype(float)
    for y, chosen, gamma in zip(Y, codes.indices, codes.values.astype(float), strict=True):
        V = atoms[chosen]
        assert_array_equal(chosen, locality.nearest(y, atoms, k))
        assert gamma.sum() == pytest.approx(1, abs=1e-6 * max(1, np.abs(gamma).sum()))
        assert locality.kkt_residual(y, V, gamma, beta) <= tolerance * max(1, beta)
        found, best = (locality.objective(y, V, g, beta) for g in (gamma, locality.code(y, V, beta)))
        assert found == pytest.approx(best, abs=1e-6, rel=1e-6)
    return codes


@pytest.fixture(params=[True, False], ids=["table", "no table"])
def either_way(request, monkeypatch):
    """As with a dictionary that is small enough for a table of distances, and as with one that is not."""
    if not request.param:
        monkeypatch.setattr(coding, "_LARGEST_TABLE", 0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("k", [1, 2, 5, 15])
def test_random(k, beta):
    assert_exact(points(0, 25), points(1, 60), beta, k)


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15])
def test_where_the_code_is_unique_it_is_the_same_code(beta):
    """15 atoms in general position in 32 dimensions: C is positive definite."""
    Y, atoms = points(2, 25, 32), points(3, 50, 32)
    codes = assert_exact(Y, atoms, beta)
    truth = [locality.code(y, atoms[chosen], beta) for y, chosen in zip(Y, codes.indices, strict=True)]
    assert_allclose(codes.values, truth, atol=1e-4)


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15])
def test_real_descriptors(photo_descriptors, beta):
    codes = assert_exact(photo_descriptors[::60], photo_descriptors[7::8], beta)
    assert (codes.values < 0).any() or beta > 0.1


ATOMS, ZERO = points(4, 30), np.zeros((1, 16))
REPEATED = np.repeat(ATOMS[:8], 4, axis=0)
FLAT = (
    (points(6, 30, 3) * 64).round() @ (points(7, 3) * 64).round() / 64**2
)  # exactly of rank 3 in 32 bits too
DEGENERATE = {  # descriptors, atoms
    "descriptors that are atoms": (ATOMS[:5], ATOMS),
    "each atom four times": (points(8, 5), REPEATED),
    "descriptors that are atoms four times over": (REPEATED[::4], REPEATED),
    "all atoms alike": (points(8, 5), REPEATED[[0] * 20]),
    "a single atom": (points(10, 5), ATOMS[:1]),
    "fewer atoms than neighbours": (points(8, 5), points(5, 4)),
    "as many atoms as neighbours": (points(8, 5), points(5, 15)),
    "a zero descriptor": (ZERO, ATOMS),
    "a zero descriptor and a dead atom": (ZERO, np.vstack([ZERO, ATOMS])),
    "a zero descriptor and dead atoms alone": (ZERO, ZERO[[0] * 20]),
    "dead atoms": (points(8, 5), np.vstack([ZERO, ATOMS[:10], ZERO])),
    "atoms equally far": (ZERO, np.eye(16)),
    "atoms and their opposites": (ZERO, np.vstack([ATOMS[:9], -ATOMS[:9]])),
    "30 atoms in 3 dimensions": (points(9, 5), FLAT),
    "descriptors and atoms in 3 dimensions": (FLAT[:5] * 0.9, FLAT),
    "atoms on a line": (points(9, 5), np.arange(20)[:, None] * FLAT[:1] / 16),
    "atoms almost alike": (points(9, 5), ATOMS[:1] + 1e-5 * ATOMS),
    "tiny numbers": (1e-4 * points(10, 5), 1e-4 * ATOMS),
    "large numbers": (30 * points(10, 5), 30 * ATOMS),
}


ILL_POSED = {("atoms almost alike", 0.0)}  # codes of 10⁵, which 32 bits can't add up to one


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(("case", "beta"), sorted({*product(DEGENERATE, BETAS)} - ILL_POSED))
def test_degenerate(case, beta):
    Y, atoms = DEGENERATE[case]
    assert_exact(Y, atoms, beta, tolerance=1e-5 * max(1, np.abs(atoms).max() ** 2))


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15, 1.0])
def test_many_atoms_in_few_dimensions(beta):
    """Up to 15 neighbours in 1 to 6 dimensions, on a grid or at random: C is singular and ties abound."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        m, q = rng.integers(1, 7), rng.integers(1, 25)
        rows = rng.integers(-1, 2, (q + 5, m)) if seed % 2 else rng.normal(size=(q + 5, m))
        Y, atoms = rows.astype(np.float32), rows[5:].astype(np.float32)
        codes = LocalityCoder(beta=beta).encode(Y, atoms)
        assert_allclose(codes.values.sum(1, dtype=float), 1, atol=1e-5)
        for y, chosen, gamma in zip(Y.astype(float), codes.indices, codes.values.astype(float), strict=True):
            V = atoms[chosen].astype(float)
            scale = max(1, ((V - y) ** 2).sum(1).max())
            assert locality.kkt_residual(y, V, gamma, beta) <= 1e-5 * scale


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15, 10.0])
def test_a_descriptor_that_is_an_atom_is_that_atom(beta):
    atoms = points(11, 40)
    codes = LocalityCoder(beta=beta).encode(atoms, atoms)
    assert_array_equal(codes.indices[:, 0], np.arange(40))
    assert_allclose(codes.values, np.eye(1, 15).repeat(40, 0), atol=1e-6)


def test_the_beta_that_leaves_only_the_nearest_atom():
    """γ = e₁ is optimal just when β(ζⱼ − ζ₁) ≥ C₁₁ − C₁ⱼ and β(ζⱼ + ζ₁) ≥ C₁ⱼ − C₁₁ for all j."""
    for y in points(12, 10):
        atoms = points(13, 15)
        V = atoms[locality.nearest(y, atoms, 15)]
        zeta, fall = np.linalg.norm(V - y, axis=1), (V[0] - V) @ (V[0] - y)  # C₁₁ − C₁ⱼ
        bound = np.maximum(fall[1:] / (zeta[1:] - zeta[0]), -fall[1:] / (zeta[1:] + zeta[0])).max()
        alone, joined = (LocalityCoder(beta=b * bound).encode(y[None], atoms).values[0] for b in (1.01, 0.99))
        assert_allclose(alone, np.eye(1, 15)[0], atol=1e-6)
        assert np.count_nonzero(joined) > 1


def test_without_a_penalty_the_nearest_point_of_the_affine_span_is_found():
    y, atoms = points(14, 1)[0], points(15, 6)
    gamma = LocalityCoder(n_neighbors=6, beta=0.0).encode(y[None], atoms)
    Z = atoms[gamma.indices[0]]
    edges = Z[1:] - Z[0]
    best = Z[0] + edges.T @ np.linalg.lstsq(edges.T, y - Z[0], rcond=None)[0]
    assert_allclose(gamma.values[0] @ Z, best, atol=1e-5)


def test_a_large_penalty_leaves_no_negative_code(photo_descriptors):
    codes = LocalityCoder(beta=1.0).encode(photo_descriptors[::20], photo_descriptors[3::9])
    assert codes.values.min() >= -1e-6


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("k", [1, 2, 5, 15, 99])
def test_llc_is_the_closed_form(k, epsilon):
    Y, atoms = points(16, 25), points(17, 40)
    codes = LLCCoder(n_neighbors=k, epsilon=epsilon).encode(Y, atoms)
    for y, chosen, gamma in zip(Y, codes.indices, codes.values, strict=True):
        assert_array_equal(chosen, locality.nearest(y, atoms, k))
        assert_allclose(gamma, locality.llc(y, atoms[chosen], epsilon), atol=2e-5)


def test_llc_of_degenerate_cases():
    atoms, zero = points(18, 12), np.zeros((1, 16))
    for Y, V in [
        (atoms, atoms),
        (atoms, np.repeat(atoms, 5, axis=0)),
        (zero, atoms),
        (zero, np.vstack([zero] * 9)),
    ]:
        values = LLCCoder(n_neighbors=5).encode(Y, V).values
        assert np.isfinite(values).all()
        assert_allclose(values.sum(1), 1, atol=1e-5)


CODERS = [LocalityCoder(), LLCCoder(), LocalityCoder(n_neighbors=3, beta=0.15)]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("coder", CODERS)
def test_a_batch_is_its_rows(coder, photo_descriptors):
    Y, atoms = photo_descriptors[:40], photo_descriptors[5::10]
    batch = coder.encode(Y, atoms)
    for i in range(len(Y)):
        alone = coder.encode(Y[i : i + 1], atoms)
        assert_array_equal(alone.indices[0], batch.indices[i])
        assert_array_equal(alone.values[0], batch.values[i])


@pytest.mark.parametrize("coder", CODERS)
def test_blank_descriptors_are_alike(coder):
    Y, atoms = points(21, 9), points(22, 40)
    Y[[2, 3, 8]] = 0
    batch = coder.encode(Y, atoms)
    for i in range(len(Y)):
        alone = coder.encode(Y[i : i + 1], atoms)
        assert_array_equal(alone.indices[0], batch.indices[i])
        assert_array_equal(alone.values[0], batch.values[i])


@pytest.mark.parametrize("coder", CODERS)
def test_no_descriptors_no_codes(coder):
    codes = coder.encode(np.empty((0, 16), np.float32), points(0, 40).astype(np.float32))
    assert codes.indices.shape == codes.values.shape == (0, coder.n_neighbors)


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_floats_in_any_memory(coder, dtype, tmp_path):
    Y, atoms = points(19, 20).astype(dtype), points(20, 40).astype(dtype)
    truth = coder.encode(Y, atoms)
    np.save(tmp_path / "Y.npy", Y)
    mapped, frozen = np.load(tmp_path / "Y.npy", mmap_mode="r"), atoms.copy()
    frozen.flags.writeable = False
    for other in (coder.encode(mapped, frozen), coder.encode(np.asfortranarray(Y), np.asfortranarray(atoms))):
        assert_array_equal(other.indices, truth.indices)
        assert_array_equal(other.values, truth.values)
    double = coder.encode(Y.astype(float), atoms.astype(float))
    assert_array_equal(double.indices, truth.indices)
    assert_allclose(double.values, truth.values, atol=1e-5)
