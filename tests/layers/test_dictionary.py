"""Dictionaries: exact codes, a falling objective, atoms in the unit ball, and no worse than SPAMS."""

import gzip

import numpy as np
import pytest
import spams
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from ddlcn.layers.dictionary import ClasswiseDictionary, L1BallDictionary, l1_ball_codes
from tests.oracles import l1_ball
from tests.oracles.sift import dense_sift

RADIUS = 0.35


def unit_rows(rng, n, m):
    rows = rng.normal(size=(n, m))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def optimal_codes(Y, D, radius=RADIUS, tolerance=1e-6):
    """Our codes, once they are seen to lie in the ball and to satisfy KKT there."""
    A = np.asarray(l1_ball_codes(Y, D, radius), float)
    assert A.shape == (len(Y), len(D))
    assert np.abs(A).sum(1).max() <= radius * (1 + tolerance)
    assert l1_ball.gap(Y, D, A, radius).max() <= tolerance * max(1, radius)
    return A


def mean_objective(Y, D):
    return l1_ball.objective(Y, D, optimal_codes(Y, D)).mean()


def assert_usable(dictionary, n_atoms, n_features):
    atoms = dictionary.components_
    assert atoms.shape == (n_atoms, n_features)
    assert np.isfinite(atoms).all()
    assert np.linalg.norm(np.asarray(atoms, float), axis=1).max() <= 1 + 1e-6


@pytest.mark.parametrize("radius", [0.01, 0.35, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("q", [1, 2, 15, 40])  # 40 atoms in 20 dimensions: the free solution is not unique
def test_codes_agree_with_an_independent_solver(q, radius):
    rng = np.random.default_rng(q)
    Y, D = unit_rows(rng, 20, 20), unit_rows(rng, q, 20) * rng.uniform(0.3, 1, (q, 1))
    A, truth = optimal_codes(Y, D, radius), l1_ball.codes(Y, D, radius)
    assert_allclose(l1_ball.objective(Y, D, A), l1_ball.objective(Y, D, truth), atol=1e-6)
    if q <= 20:
        assert_allclose(A, truth, atol=1e-4)


def test_codes_of_correlated_positive_atoms(photo_descriptors):
    """Real descriptors are far from orthogonal: many atoms enter and leave on the way."""
    Y, D = photo_descriptors[5::9], np.asarray(photo_descriptors[::60], float)
    for radius in (RADIUS, 1.0, 3.0):
        A = optimal_codes(Y, D, radius)
        truth = l1_ball.codes(Y[:20], D, radius)
        assert_allclose(l1_ball.objective(Y[:20], D, A[:20]), l1_ball.objective(Y[:20], D, truth), atol=1e-6)


def test_codes_of_degenerate_samples_and_atoms():
    rng = np.random.default_rng(0)
    D = unit_rows(rng, 6, 8)
    D = np.vstack([D, D[:2], np.zeros((1, 8)), -D[:1]])  # repeated, dead and opposite atoms
    Y = np.vstack([np.zeros((1, 8)), D, 0.1 * D[:3], (D[0] + D[1])[None] / 2, unit_rows(rng, 5, 8)])
    for radius in (RADIUS, 1.0, 4.0):
        A = optimal_codes(Y, D, radius)
        assert_allclose(
            l1_ball.objective(Y, D, A), l1_ball.objective(Y, D, l1_ball.codes(Y, D, radius)), atol=1e-6
        )
        assert_array_equal(A[0], 0)


@pytest.mark.parametrize("radius", [RADIUS, 1.0, 3.0])
def test_codes_where_correlations_tie(radius):
    """Atoms of −1, 0 and 1: several enter at once, and which comes first must not matter."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        m, q = rng.integers(2, 8), rng.integers(1, 20)
        rows = rng.integers(-1, 2, (q + 5, m))
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        optimal_codes(np.vstack([rows, np.eye(m)]), rows[5:], radius)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_of_read_only_and_mapped_samples(dtype, tmp_path):
    rng = np.random.default_rng(3)
    Y, D = unit_rows(rng, 12, 10).astype(dtype), unit_rows(rng, 5, 10).astype(dtype)
    np.save(tmp_path / "Y.npy", Y)
    mapped = np.load(tmp_path / "Y.npy", mmap_mode="r")
    assert_array_equal(l1_ball_codes(mapped, D, RADIUS), l1_ball_codes(Y, D, RADIUS))
    assert_array_equal(L1BallDictionary(3, random_state=0).fit(mapped).components_.shape, (3, 10))


@pytest.mark.parametrize("q", [1, 15, 50])
def test_the_objective_never_rises_and_is_the_true_one(photo_descriptors, q):
    dictionary = L1BallDictionary(n_atoms=q, l1_radius=RADIUS, random_state=0).fit(photo_descriptors)
    path = np.asarray(dictionary.objective_path_, float)
    assert_usable(dictionary, q, 128)
    assert len(path) > 1
    assert (np.diff(path) <= 1e-7 * path[0]).all()
    assert_allclose(path[-1], mean_objective(photo_descriptors, dictionary.components_), rtol=2e-3)


def test_transform_is_the_exact_code(photo_descriptors):
    Y = photo_descriptors[:200]
    dictionary = L1BallDictionary(n_atoms=10, random_state=0).fit(photo_descriptors)
    assert_allclose(dictionary.transform(Y), optimal_codes(Y, dictionary.components_), atol=1e-6)


@pytest.mark.parametrize(
    ("n", "q", "make"),
    [
        (38, 64, unit_rows),  # more atoms than samples: occurs in the paper
        (1, 1, unit_rows),
        (1, 15, unit_rows),
        (30, 5, lambda rng, n, m: np.zeros((n, m))),
        (
            30,
            5,
            lambda rng, n, m: np.repeat(unit_rows(rng, 2, m), n // 2, axis=0),
        ),  # two samples, over and over
        (30, 5, lambda rng, n, m: unit_rows(rng, n, m) * (np.arange(n) % 2)[:, None]),  # every other is zero
    ],
    ids=["few", "one", "one-many", "zero", "duplicates", "half-zero"],
)
def test_scant_samples(n, q, make):
    Y = make(np.random.default_rng(0), n, 12)
    dictionary = L1BallDictionary(n_atoms=q, random_state=0).fit(Y)
    assert_usable(dictionary, q, 12)
    assert np.isfinite(dictionary.objective_path_).all()
    assert mean_objective(Y, dictionary.components_) <= 0.5 * (Y**2).sum(1).mean() + 1e-9


def test_samples_that_atoms_can_reach_are_reached():
    """As many atoms as distinct unit samples, in a ball of radius 1: each sample is its own atom."""
    Y = np.repeat(unit_rows(np.random.default_rng(1), 4, 9), 5, axis=0)
    dictionary = L1BallDictionary(n_atoms=4, l1_radius=1.0, random_state=0).fit(Y)
    A = optimal_codes(Y, dictionary.components_, 1.0)
    assert l1_ball.objective(Y, dictionary.components_, A).mean() < 1e-4


def test_a_seed_is_a_result(photo_descriptors):
    first, again, other = (
        L1BallDictionary(n_atoms=8, random_state=seed).fit(photo_descriptors[:500]).components_
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_classwise_is_the_same_for_any_number_of_jobs(digit_descriptors):
    Y, y = digit_descriptors
    one, two = (ClasswiseDictionary(atoms_per_class=6, random_state=0, n_jobs=n).fit(Y, y) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.atom_classes_, np.repeat([0, 1, 2], 6))
    assert_usable(one, 18, 128)


def test_classwise_atoms_serve_their_own_class(digit_descriptors):
    Y, y = digit_descriptors
    labels = np.array(["nought", "one", "two"])[y]
    dictionary = ClasswiseDictionary(atoms_per_class=10, random_state=0).fit(Y, labels)
    for name in ("nought", "one", "two"):
        mine = np.asarray(dictionary.atom_classes_) == name
        own, foreign = dictionary.components_[mine], dictionary.components_[~mine][:10]
        assert mine.sum() == 10
        assert mean_objective(Y[labels == name], own) < mean_objective(Y[labels == name], foreign)


def spams_dictionary(Y, q):
    """The authors' call: trainDL, mode 0, 500 iterations; columns are samples there."""
    columns = np.asfortranarray(np.asarray(Y, float).T)
    D = spams.trainDL(columns, K=q, lambda1=RADIUS, mode=0, iter=500, numThreads=1, verbose=False)
    return np.ascontiguousarray(D.T)


def assert_no_worse_than_spams(Y, q):
    """A local minimum depends on the start: the mean of four of ours, and half a percent."""
    fits = [L1BallDictionary(q, l1_radius=RADIUS, random_state=seed).fit(Y) for seed in range(4)]
    ours = np.mean([mean_objective(Y, fit.components_) for fit in fits])
    assert ours <= 1.005 * mean_objective(Y, spams_dictionary(Y, q))


@pytest.mark.parametrize("q", [2, 15, 40])
def test_no_worse_than_spams_on_a_photograph(photo_descriptors, q):
    assert_no_worse_than_spams(photo_descriptors, q)


@pytest.mark.parametrize("q", [2, 15])
def test_no_worse_than_spams_on_digits(digit_descriptors, q):
    Y, y = digit_descriptors
    assert_no_worse_than_spams(Y[y == 2], q)


@pytest.mark.data
@pytest.mark.parametrize(("p", "q"), [(1, 1), (15, 15)])
def test_no_worse_than_spams_on_faces(data_dir, p, q):
    paths = sorted((data_dir / "extended_yale_b/CroppedYale/yaleB01").glob("*[0-9].pgm"))[:p]
    rows = [dense_sift(np.asarray(Image.open(path)) / 255, step=12)[0] for path in paths]
    assert_no_worse_than_spams(np.concatenate(rows), q)


@pytest.mark.data
@pytest.mark.parametrize(("p", "q"), [(1, 2), (15, 15), (100, 100)])
def test_no_worse_than_spams_on_mnist(data_dir, p, q):
    with gzip.open(data_dir / "mnist/train-labels-idx1-ubyte.gz") as file:
        eights = np.flatnonzero(np.frombuffer(file.read(8 + 10_000)[8:], np.uint8) == 8)[:p]
    with gzip.open(data_dir / "mnist/train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(16 + 10_000 * 784)[16:], np.uint8).reshape(-1, 28, 28)[eights]
    assert_no_worse_than_spams(np.concatenate([dense_sift(image / 255)[0] for image in images]), q)
