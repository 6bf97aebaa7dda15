"""Dictionaries: exact codes, a falling objective, atoms in the unit ball, and no worse than SPAMS."""

import numpy as np
import pytest
import spams
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.decomposition import PCA

from ddlcn.errors import DDLCNError
from ddlcn.layers.dictionary import (
    DictionaryLearning,
    L1BallDictionary,
    class_seeds,
    l1_ball_codes,
    principal_components,
    reduced,
)
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
def test_codes_against_independent_solver(q, radius):
    rng = np.random.default_rng(q)
    Y, D = unit_rows(rng, 20, 20), unit_rows(rng, q, 20) * rng.uniform(0.3, 1, (q, 1))
    A, truth = optimal_codes(Y, D, radius), l1_ball.codes(Y, D, radius)
    assert_allclose(l1_ball.objective(Y, D, A), l1_ball.objective(Y, D, truth), atol=1e-6)
    if q <= 20:
        assert_allclose(A, truth, atol=1e-4)


def test_degenerate_samples_and_atoms():
    rng = np.random.default_rng(0)
    D = unit_rows(rng, 6, 8)
    D = np.vstack([D, D[:2], np.zeros((1, 8)), -D[:1]])  # repeated, dead and opposite atoms
    Y = np.vstack([np.zeros((1, 8)), D, 0.1 * D[:3], (D[0] + D[1])[None] / 2, unit_rows(rng, 5, 8)])
    for radius in (RADIUS, 1.0, 4.0):
        A = optimal_codes(Y, D, radius)
        assert_allclose(l1_ball.objective(Y, D, A), l1_ball.objective(Y, D, l1_ball.codes(Y, D, radius)), atol=1e-6)
        assert_array_equal(A[0], 0)


@pytest.mark.parametrize("radius", [RADIUS, 1.0, 3.0])
def test_tied_correlations(radius):
    """Atoms of −1, 0 and 1: several enter at once, and which comes first must not matter."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        m, q = rng.integers(2, 8), rng.integers(1, 20)
        rows = rng.integers(-1, 2, (q + 5, m))
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        optimal_codes(np.vstack([rows, np.eye(m)]), rows[5:], radius)


@pytest.mark.parametrize("q", [1, 15, 50])
def test_objective_never_rises_and_is_true(photo_descriptors, q):
    dictionary = L1BallDictionary(n_atoms=q, l1_radius=RADIUS, random_state=0).fit(photo_descriptors)
    path = np.asarray(dictionary.objective_path_, float)
    assert_usable(dictionary, q, 128)
    assert len(path) > 1
    assert (np.diff(path) <= 1e-7 * path[0]).all()
    assert_allclose(path[-1], mean_objective(photo_descriptors, dictionary.components_), rtol=2e-3)
    some = photo_descriptors[:200]
    assert_allclose(dictionary.transform(some), optimal_codes(some, dictionary.components_), atol=1e-6)
    optimal_codes(photo_descriptors[5::9], photo_descriptors[::60].astype(float), 3.0)  # many enter and leave


FEW = {  # samples of 12 numbers, atoms
    "more atoms than samples": (unit_rows(np.random.default_rng(0), 38, 12), 64),  # occurs in the paper
    "one": (unit_rows(np.random.default_rng(0), 1, 12), 1),
    "one for many": (unit_rows(np.random.default_rng(0), 1, 12), 15),
    "zeros": (np.zeros((30, 12)), 5),
    "two, again and again": (np.repeat(unit_rows(np.random.default_rng(0), 2, 12), 15, axis=0), 5),
    "every other is zero": (unit_rows(np.random.default_rng(0), 30, 12) * (np.arange(30) % 2)[:, None], 5),
}


@pytest.mark.parametrize("case", FEW)
def test_few_samples(case):
    Y, q = FEW[case]
    dictionary = L1BallDictionary(n_atoms=q, random_state=0).fit(Y)
    assert_usable(dictionary, q, 12)
    assert np.isfinite(dictionary.objective_path_).all()
    assert mean_objective(Y, dictionary.components_) <= 0.5 * (Y**2).sum(1).mean() + 1e-9


# ------------------------------------------------------------------------------------------ of a channel


@pytest.mark.parametrize(("most", "steps"), [(10**6, (1, 1)), (100, (2, 6)), (2, (100, 300)), (1, (100, 300))])
def test_max_descriptors_are_evenly_drawn(photo_descriptors, most, steps):
    """An equal share from each image, spread over all of it."""
    images = [photo_descriptors[:100], photo_descriptors[100:400]]
    dictionary = DictionaryLearning(atoms_per_class=2, max_descriptors=most)
    drawn = np.concatenate([image[::step] for image, step in zip(images, steps, strict=True)])
    assert_array_equal(dictionary.sample(images), drawn)
    assert_array_equal(dictionary.learn(drawn, 0), L1BallDictionary(2, random_state=0).fit(drawn).components_)


def test_principal_components(photo_descriptors):
    Y = photo_descriptors[:500]
    mean, components = principal_components(Y, 16)
    truth = PCA(16, svd_solver="full").fit(Y)
    assert_allclose(mean, truth.mean_, atol=1e-6)
    assert_allclose(np.abs(components @ truth.components_.T), np.eye(16), atol=2e-3)
    found = reduced(Y, mean, components)
    expected = (Y - mean) @ components.T
    assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    assert_array_equal(reduced(mean[None], mean, components), np.zeros((1, 16)))


@pytest.mark.parametrize(("n_classes", "q"), [(2, 512), (10, 103), (17, 61), (68, 16), (100, 15), (1000, 15)])
def test_automatic_numbers(n_classes, q):
    found = DictionaryLearning().resolved(n_classes)
    assert found.atoms_per_class == q
    assert [found.n_images(n) for n in (1, 2, 3, 5, 20)] == [1, 1, 2, 3, 13]  # two thirds
    assert found.n_images(10_000) == max(15, q)
    given = DictionaryLearning(images_per_class=3, atoms_per_class=4).resolved(n_classes)
    assert (given.n_images(2), given.n_images(9), given.atoms_per_class) == (2, 3, 4)
    assert DictionaryLearning(images_per_class=None).n_images(9) == 9
    assert DictionaryLearning(atoms_per_class=4).n_images(100) == 15


def test_deeper_dictionaries_are_learnt_on_atoms(photo_descriptors):
    V = photo_descriptors[::20]
    found = DictionaryLearning(deeper_atoms=(8, 3), l1_radius=0.5).learn_deeper(V, 7)
    assert [each.shape for each in found] == [V.shape, (8, 128), (3, 128)]
    assert found[0] is V
    for below, atoms, depth in zip(found, found[1:], (1, 2), strict=False):
        truth = L1BallDictionary(len(atoms), 0.5, random_state=class_seeds(7, depth)[-1]).fit(below)
        assert_array_equal(atoms, truth.components_)
    assert len(DictionaryLearning(deeper_atoms=()).learn_deeper(V, 7)) == 1
    assert_array_equal(class_seeds(5, 3), class_seeds(5, 9)[:3])


INVALID = {"images_per_class": [0, "all", 2.5], "atoms_per_class": [None, -1], "deeper_atoms": [64, (0,), (8, "auto")]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in INVALID for value in INVALID[name]])
def test_invalid_counts(name, value):
    with pytest.raises(DDLCNError, match=rf"{name}=.* of DictionaryLearning: must be "):
        DictionaryLearning(**{name: value}).resolved(2)


@pytest.mark.parametrize("given", [{"n_atoms": 0}, {"l1_radius": 0}, {"l1_radius": np.inf}, {"l1_radius": np.nan}])
def test_invalid_parameters(given):
    with pytest.raises(DDLCNError, match="must be positive"):
        L1BallDictionary(**given).fit(np.eye(4))


# ------------------------------------------------------------------------------------------ against SPAMS


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
def test_no_worse_than_spams(photo_descriptors, digit_descriptors, q):
    for Y in (photo_descriptors, digit_descriptors[0][digit_descriptors[1] == 2][:600]):
        assert_no_worse_than_spams(Y, q)


@pytest.mark.data
@pytest.mark.parametrize(("p", "q"), [(1, 1), (15, 15)])
def test_no_worse_than_spams_on_faces(data_dir, p, q):
    paths = sorted((data_dir / "extended_yale_b/CroppedYale/yaleB01").glob("*[0-9].pgm"))[:p]
    rows = [dense_sift(np.asarray(Image.open(path)) / 255, step=12)[0] for path in paths]
    assert_no_worse_than_spams(np.concatenate(rows), q)
