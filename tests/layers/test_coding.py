"""Codes: KKT conditions, an independent solver, degenerate cases, and laws that every coder obeys."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import MAX_NEIGHBORS, Codebook, LinearCoder, LLCCoder, LocalityCoder
from tests.oracles import locality

BETAS = [0.0, 0.001, 0.01, 0.15, 1.0, 1e4]


class LargeCodebook(Codebook):
    """Works as that of a dictionary that is too large for a table of distances."""

    pairwise_distances = np.empty((0, 0))


BOOKS = pytest.mark.parametrize("book", [Codebook, LargeCodebook], ids=["table", "no table"])


def points(seed, n, m=16):
    """Rows of about unit length, positive as SIFT's are, so that neighbours are alike."""
    rows = np.abs(np.random.default_rng(seed).normal(size=(n, m))) ** 2
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def assert_exact(Y, atoms, beta, k=15, tolerance=1e-5, book=Codebook):
    """Neighbours as by a sort, sums of one, KKT, and an objective no worse than the independent solver's."""
    Y, atoms = np.asarray(Y, np.float32), np.asarray(atoms, np.float32)  # as the coder takes them
    codes, k = LocalityCoder(n_neighbors=k, beta=beta).encode(Y, book(atoms)), min(k, len(atoms))
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


@BOOKS
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("k", [1, 2, 5, 15])
def test_random(k, beta, book):
    assert_exact(points(0, 25), points(1, 60), beta, k, book=book)


@pytest.mark.parametrize("n_atoms", [1024, 1025, 1100])
def test_large_dictionary(n_atoms):
    assert_exact(points(0, 10), points(1, n_atoms), 0.01)


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15])
def test_real_descriptors(photo_descriptors, beta):
    codes = assert_exact(photo_descriptors[::60], photo_descriptors[7::8], beta)
    assert (codes.values < 0).any() or beta > 0.1


ATOMS, ZERO = points(4, 30), np.zeros((1, 16))
REPEATED = np.repeat(ATOMS[:8], 4, axis=0)
FLAT = (points(6, 30, 3) * 64).round() @ (points(7, 3) * 64).round() / 64**2  # exactly of rank 3 in 32 bits too
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


@BOOKS
@pytest.mark.parametrize(("case", "beta"), sorted({*product(DEGENERATE, BETAS)} - ILL_POSED))
def test_degenerate(case, beta, book):
    Y, atoms = DEGENERATE[case]
    assert_exact(Y, atoms, beta, tolerance=1e-5 * max(1, np.abs(atoms).max() ** 2), book=book)


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


@BOOKS
@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("k", [1, 2, 5, 15, 99])
def test_llc_closed_form(k, epsilon, book):
    Y, atoms = points(16, 25), points(17, 40)
    codes = LLCCoder(n_neighbors=k, epsilon=epsilon).encode(Y, book(atoms))
    for y, chosen, gamma in zip(Y, codes.indices, codes.values, strict=True):
        assert_array_equal(chosen, locality.nearest(y, atoms, k))
        assert_allclose(gamma, locality.llc(y, atoms[chosen], epsilon), atol=2e-5)


CODERS = [LocalityCoder(), LLCCoder(), LocalityCoder(n_neighbors=3, beta=0.15)]


@pytest.mark.parametrize("case", sorted(set(DEGENERATE) - {"tiny numbers"}))
def test_llc_degenerate(case):
    values = LLCCoder(n_neighbors=5).encode(*DEGENERATE[case]).values
    assert np.isfinite(values).all()
    assert_allclose(values.sum(1), 1, atol=1e-3)


@BOOKS
@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("blank", [False, True])
def test_batch_equals_single(coder, book, blank, photo_descriptors):
    Y, atoms = photo_descriptors[:40].copy(), book(photo_descriptors[5::10])
    Y[[2, 3, 38]] *= not blank
    batch = coder.encode(Y, atoms)
    for i in range(len(Y)):
        alone = coder.encode(Y[i : i + 1], atoms)
        assert_array_equal(alone.indices[0], batch.indices[i])
        assert_array_equal(alone.values[0], batch.values[i])


@pytest.mark.parametrize("coder", CODERS)
def test_blocks_of_rows_and_types(coder, photo_descriptors):
    """Where BLAS is given blocks of rows, and how numbers lie in memory, must not matter."""
    Y, atoms = np.tile(photo_descriptors, (2, 1))[:1100], photo_descriptors[5::10]
    whole, parts = coder.encode(Y, atoms), [coder.encode(Y[at : at + 333], atoms) for at in range(0, 1100, 333)]
    double = coder.encode(np.asfortranarray(Y, float), np.asfortranarray(atoms, float))
    for n in (0, 1):
        assert_array_equal(whole[n], np.concatenate([part[n] for part in parts]))
        assert_array_equal(whole[n], double[n])
    assert_array_equal(whole.dense(len(atoms)), locality.dense(*whole, len(atoms)))


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("n_atoms", [5, 40])
def test_linear_codes_are_ridge_regression(ridge, n_atoms):
    Y, atoms = points(23, 9), points(24, n_atoms)
    found = LinearCoder(ridge=ridge).encode(Y, atoms)
    truth = np.linalg.solve(atoms @ atoms.T + ridge * np.eye(n_atoms), atoms @ Y.T).T
    assert_allclose(found, truth, atol=1e-4 / ridge**0.5 / 10)
    assert_array_equal(found[:1], LinearCoder(ridge=ridge).encode(Y[:1], atoms))


INVALID = {LocalityCoder: [("beta", -0.1), ("beta", np.nan), ("n_neighbors", 0), ("n_neighbors", MAX_NEIGHBORS + 1)]}
INVALID |= {LLCCoder: [("epsilon", -1), ("n_neighbors", -1)], LinearCoder: [("ridge", 0)]}


@pytest.mark.parametrize(("coder", "name", "value"), [(coder, *each) for coder in INVALID for each in INVALID[coder]])
def test_invalid_parameters(coder, name, value):
    with pytest.raises(DDLCNError, match=f"{name}={value}"):
        coder(**{name: value}).encode(points(0, 3), points(1, 600))
