"""Codes: KKT, an independent solver, and every degenerate case that the issue names."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.layers import coding
from ddlcn.layers.coding import Codebook, LLCCoder, LocalityCoder
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


# ------------------------------------------------------------------------------------------ search by guides


def guided(seed, n=70, n_atoms=300, n_guides=25):
    """Descriptors, atoms, and guides, all alike."""
    return [points(seed + i, size).astype(np.float32) for i, size in enumerate((n, n_atoms, n_guides))]


def assert_nearest(Y, atoms, guides, share, k):
    book = Codebook(atoms, guides, share)
    found, squared = book.nearest(Y, k)
    truth = [locality.nearest_of_groups(*map(np.float64, (y, atoms, guides)), share, k).tolist() for y in Y]
    assert found.tolist() == truth
    apart = ((Y[:, None].astype(float) - atoms[found].astype(float)) ** 2).sum(axis=2)
    assert_allclose(squared, apart, rtol=1e-9, atol=1e-12)
    return found


@pytest.mark.parametrize("share", [0.01, 0.1, 0.35, 0.9])
@pytest.mark.parametrize("k", [1, 5, 15, 40])
def test_nearest_atoms_of_the_nearest_guides(share, k):
    Y, atoms, guides = guided(30)
    found = assert_nearest(Y, atoms, guides, share, k)
    everywhere = Codebook(atoms).nearest(Y, k)[0]
    alike = np.mean([len(set(a) & set(b)) / k for a, b in zip(found, everywhere, strict=True)])
    assert alike < 1 or share > 0.8  # else this is no test of the groups
    assert alike > 0.2 + 0.7 * share  # far more than by chance


def test_the_groups_of_real_descriptors(photo_descriptors):
    atoms, guides = photo_descriptors[7::3], photo_descriptors[::60]
    found = assert_nearest(photo_descriptors[::40], atoms, guides, 0.1, 15)
    everywhere = Codebook(atoms).nearest(photo_descriptors[::40], 15)[0]
    assert np.mean([len(set(a) & set(b)) / 15 for a, b in zip(found, everywhere, strict=True)]) > 0.5


@pytest.mark.parametrize("share", [1e-9, 0.1])
@pytest.mark.parametrize("k", [1, 15, 300])
def test_there_are_always_enough_atoms(share, k):
    """Some guides own no atom, some a single one, and the last most of them."""
    Y, atoms, _ = guided(40, n=20)
    atoms[:4] += 2 * np.eye(4, 16, dtype=np.float32)
    guides = np.vstack([Y[:3] * 9, atoms[:4], np.full((1, 16), -1), Y[3:4] + 3, atoms[4:].mean(axis=0)[None]])
    sizes = np.bincount(locality.owners(atoms.astype(float), guides.astype(float)), minlength=len(guides))
    assert {0, 1} <= set(sizes)
    assert sizes.max() > 200
    found = assert_nearest(Y, atoms, guides.astype(np.float32), share, k)
    assert all(len(set(row)) == k for row in found.tolist())


def test_guides_without_atoms_come_before_all_others():
    Y, atoms, _ = guided(45)
    far = -10 * np.ones((1, 16))
    guides = np.vstack([far, Y[:2], far - 1, Y[2:4]]).astype(np.float32)
    atoms = np.vstack([atoms, np.tile(far, (9, 1))]).astype(np.float32)
    near_far = np.vstack([Y[:5], np.tile(far - 3, (2, 1))]).astype(np.float32)
    found = assert_nearest(near_far, atoms, guides, 0.01, 15)
    assert (found[-2:, :9] >= 300).all()


@pytest.mark.parametrize("coder", CODERS)
def test_with_no_guides_or_all_atoms_the_search_is_the_full_one(coder):
    Y, atoms, guides = guided(50)
    truth = coder.encode(Y, atoms)
    for book in (
        Codebook(atoms),
        Codebook(atoms, guides),
        Codebook(atoms, None, 0.1),
        Codebook(atoms, guides, 2),
    ):
        assert book.groups is None
        for found, expected in zip(coder.encode(Y, book), truth, strict=True):
            assert_array_equal(found, expected)
    one_guide = coder.encode(Y, Codebook(atoms, guides[:1], 0.1))
    for found, expected in zip(one_guide, truth, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("coder", CODERS)
def test_no_block_and_no_order_of_rows_changes_a_guided_code(coder, monkeypatch):
    Y, atoms, guides = guided(60, n=90)
    Y[[4, 50, 51]] = 0
    book = Codebook(atoms, guides, 0.1)
    truth = coder.encode(Y, book)
    for size in (1, 7, 64):
        monkeypatch.setattr(coding, "_LARGE_BLOCK", size)
        for found, expected in zip(coder.encode(Y, book), truth, strict=True):
            assert_array_equal(found, expected)
    order = np.random.default_rng(0).permutation(len(Y))
    for found, expected in zip(coder.encode(Y[order], book), truth, strict=True):
        assert_array_equal(found, expected[order])
    assert coder.encode(Y[:0], book).indices.shape == (0, coder.n_neighbors)


@pytest.mark.parametrize("beta", [0.001, 0.01, 0.15])
def test_guided_codes_are_optimal_over_their_atoms(beta):
    Y, atoms, guides = guided(70, n=30)
    codes = LocalityCoder(beta=beta).encode(Y, Codebook(atoms, guides, 0.1))
    assert_array_equal(codes.indices, Codebook(atoms, guides, 0.1).nearest(Y, 15)[0])
    assert_allclose(codes.values.sum(1, dtype=float), 1, atol=1e-5)
    for y, chosen, gamma in zip(Y.astype(float), codes.indices, codes.values.astype(float), strict=True):
        assert locality.kkt_residual(y, atoms[chosen].astype(float), gamma, beta) <= 1e-5


def test_atoms_that_are_alike_are_found_by_number():
    Y, atoms, guides = guided(80, n_atoms=40)
    assert_nearest(Y, np.repeat(atoms, 3, axis=0)[np.argsort(np.tile([0, 1, 2], 40))], guides, 0.3, 9)
