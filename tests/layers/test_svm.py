"""LinearSVM: LIBLINEAR's problem, certified by the duality gap and by scikit-learn's LinearSVC."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ddlcn.layers import descent, gram
from ddlcn.layers import rows as layers_rows
from ddlcn.layers.rows import MemoryRows
from ddlcn.layers.svm import LinearSVM, _asked
from tests.oracles import svm

WIDE, TALL = (60, 400, 0.5), (600, 40, 0.2)  # n, features, density
SOLVERS = ("gram", "coordinates")


def problem(shape, n_classes, seed=0):
    """Noisy classes, so that some samples stay on the wrong side; rows of unit norm, as ours are."""
    n, d, density = shape
    rng = np.random.default_rng(seed)
    X = sparse.random(n + 50, d, density, "csr", rng=rng, data_rvs=rng.standard_normal)
    X = sparse.diags_array(1 / np.maximum(sparse.linalg.norm(X, axis=1), 1e-12)) @ X
    y = np.argmax(X @ rng.normal(size=(d, n_classes)) + 0.3 * rng.normal(size=(n + 50, n_classes)), axis=1)
    y[:n_classes] = np.arange(n_classes)
    return sparse.csr_matrix(X[:n]), y[:n], sparse.csr_matrix(X[n:])


def signs(model, y):
    """±1 for each row of coef_: the second of two classes, or each of several against the rest."""
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return [np.where(y == c, 1.0, -1.0) for c in positive]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("solver", SOLVERS)
def test_agrees_with_liblinear(solver, shape, n_classes, C):
    X, y, unseen = problem(shape, n_classes)
    peer = LinearSVC(C=C, loss="squared_hinge", dual=True, tol=1e-9, max_iter=100_000).fit(X, y)
    model = LinearSVM(C=C, solver=solver, tol=1e-8).fit(X, y)
    assert model.coef_.shape == peer.coef_.shape
    assert_array_equal(model.classes_, peer.classes_)
    for rows in (X, unseen):
        assert_allclose(model.decision_function(rows), peer.decision_function(rows), atol=1e-3)
        assert_array_equal(model.predict(rows), peer.predict(rows))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gap_is_closed_and_reported(solver, shape, C):
    X, y, _ = problem(shape, 3)
    model = LinearSVM(C=C, solver=solver, tol=1e-6).fit(X, y)
    assert np.shape(model.duality_gap_) == (3,)
    assert (np.asarray(model.duality_gap_) >= -1e-9).all()
    assert np.max(model.duality_gap_) <= 1e-6
    model = LinearSVM(C=C, solver=solver, tol=1e-8).fit(
        X, y
    )  # the dual point that w alone tells is a blunter measure
    for w, b, sign in zip(model.coef_, model.intercept_, signs(model, y), strict=True):
        assert svm.relative_gap(X, sign, np.asarray(w, float), float(b), C) <= 1e-3


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_default_tolerance_is_near_the_optimum(shape):
    X, y, _ = problem(shape, 2)
    loose, tight = LinearSVM().fit(X, y), LinearSVM(tol=1e-9).fit(X, y)
    (sign,) = signs(loose, y)
    found, best = (
        svm.primal(X, sign, m.coef_[0].astype(float), float(m.intercept_[0]), 1.0) for m in (loose, tight)
    )
    assert best * (1 - 1e-7) <= found <= best * (1 + 1e-3)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_dense_or_sparse_one_job_or_two(shape):
    X, y, _ = problem(shape, 3)
    model = LinearSVM(n_jobs=1).fit(X, y)
    assert_array_equal(LinearSVM(n_jobs=2).fit(X, y).coef_, model.coef_)
    assert_array_equal(LinearSVM().fit(X, y).coef_, model.coef_)
    tight = LinearSVM(tol=1e-9).fit(X, y)
    assert_allclose(LinearSVM(tol=1e-9).fit(X.toarray(), y).coef_, tight.coef_, atol=1e-4)
    assert_allclose(LinearSVM(tol=1e-9).fit(X.astype(np.float32), y).coef_, tight.coef_, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_solvers_reach_the_same_place(dtype):
    """With more classes than are solved at once, and C by cross-validation."""
    X, y, _ = problem((400, 60, 0.3), 20)
    by_gram, by_rows = (LinearSVM("cv", solver, 1e-9).fit(X.astype(dtype), y) for solver in SOLVERS)
    assert by_rows.C_ == by_gram.C_
    assert_allclose(by_rows.coef_, by_gram.coef_, atol=1e-4)
    assert_allclose(by_rows.intercept_, by_gram.intercept_, atol=1e-4)
    assert_array_equal(
        LinearSVM("cv", "coordinates", 1e-9, n_jobs=2).fit(X.astype(dtype), y).coef_, by_rows.coef_
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_short_of_the_tolerance_it_says_so(solver, monkeypatch):
    monkeypatch.setattr(descent, "_MOST_ROUNDS", 1)
    X, y, _ = problem(TALL, 2)
    with pytest.warns(ConvergenceWarning, match="duality gap of .*, above tol=1e-06: scale"):
        LinearSVM(solver=solver).fit(X, y)


def test_labels_of_any_sort():
    X, y, unseen = problem(WIDE, 2)
    truth = LinearSVM().fit(X, y).predict(unseen)
    for names in (np.array(["a", "b"]), np.array([False, True]), np.array([-7, 9])):
        assert_array_equal(LinearSVM().fit(X, names[y]).predict(unseen), names[truth])


def test_empty_rows_are_borne():
    X, y, _ = problem(TALL, 2)
    X = sparse.vstack([X, sparse.csr_matrix((30, X.shape[1]))], format="csr")
    y = np.r_[y, np.tile([0, 1, 1], 10)]
    peer = LinearSVC(C=1, loss="squared_hinge", dual=True, tol=1e-9, max_iter=100_000).fit(X, y)
    assert_allclose(LinearSVM(tol=1e-8).fit(X, y).decision_function(X), peer.decision_function(X), atol=1e-3)


def test_of_many_rows_an_even_sample_chooses_C(monkeypatch):
    monkeypatch.setattr("ddlcn.layers.svm._MANY", 450)
    monkeypatch.setattr("ddlcn.layers.svm._SAMPLE", 100)
    codes = np.repeat([0, 1, 2], [300, 150, 1])
    X = sparse.csr_array(np.arange(1.0, 452)[:, None])
    asked, origins = _asked(descent.Problem(X, codes, "auto", 1e-3, 0, 1), None)
    assert origins is None
    assert np.bincount(asked.codes).tolist() == [67, 34, 1]
    numbers = asked.rows.load().toarray()[:, 0] - 1
    assert_array_equal(codes[numbers.astype(int)], asked.codes)
    assert (np.diff(numbers) > 0).all()
    for few, of in ((codes[:450], None), (codes[:450], np.arange(450))):  # up to here all take part
        problem_of_few = descent.Problem(X[:450], few, "auto", 1e-3, 0, 1)
        assert _asked(problem_of_few, of) == (problem_of_few, of)


def test_of_many_rows_copies_and_those_not_asked_do_not_count(monkeypatch):
    X, y, _ = problem((600, 40, 0.2), 3)
    truth = LinearSVM(random_state=0).fit(X, y)
    monkeypatch.setattr("ddlcn.layers.svm._MANY", 599)
    monkeypatch.setattr("ddlcn.layers.svm._SAMPLE", 100)
    origins = np.where(np.arange(600) < 400, np.arange(600), np.arange(600) % 400)
    codes = y[origins]
    marked = sparse.csr_array(np.arange(1.0, 601)[:, None])
    asked, _ = _asked(descent.Problem(marked, codes, "auto", 1e-3, 0, 1), origins)
    numbers = asked.rows.load().toarray()[:, 0].astype(int) - 1
    assert numbers.max() < 400
    assert 100 <= len(numbers) <= 103
    moved = X.tolil()
    moved[np.setdiff1d(np.arange(600), numbers)] = 0
    found = [LinearSVM(random_state=0).fit(rows, codes, origins) for rows in (X, moved.tocsr())]
    assert found[0].scale_ == found[1].scale_ != truth.scale_
    assert found[0].C_ == found[1].C_
    assert np.abs(found[0].coef_ - found[1].coef_).max() > 0.01  # all rows train


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
def test_products_of_rows(monkeypatch, dtype, density):
    """Columns of any number of entries, in one block and in many, of few rows and of all."""
    rng = np.random.default_rng(0)
    shares = density * rng.uniform(0, 1, size=300) ** 2 if density < 1 else np.ones(300)
    X = rng.normal(size=(40, 300)) * (rng.uniform(size=(40, 300)) < shares)
    rows, duals = MemoryRows(sparse.csr_array(X.astype(dtype))), rng.normal(size=(3, 40))
    for entries, stripes, of_piece in ((8_000_000, 16, 1 << 24), (50, 1, 1 << 24), (50, 1, 700)):
        monkeypatch.setattr(gram, "_DENSE_ENTRIES", entries)
        monkeypatch.setattr(gram, "_LISTED_ENTRIES", entries)
        monkeypatch.setattr(gram, "_STRIPES", stripes)
        monkeypatch.setattr(layers_rows, "_PIECE_ENTRIES", of_piece)
        one, two = (gram.gram_matrix([rows], n_jobs) for n_jobs in (1, 2))
        assert one.dtype == dtype
        assert_allclose(one, X @ X.T + 1, rtol=1e-5, atol=1e-4 if dtype == np.float32 else 1e-12)
        assert_array_equal(one, two)
        assert_allclose(gram.transposed_product(rows, duals, 2), X.T @ duals.T, atol=1e-4)


@pytest.mark.parametrize("density", [0.02, 0.3])
def test_products_do_not_depend_on_pieces(monkeypatch, density):
    X = sparse.random(300, 200, density, format="csr", random_state=0)
    rows, duals = MemoryRows(sparse.csr_array(X)), np.random.default_rng(0).normal(size=(3, 300))
    monkeypatch.setattr(gram, "_LISTED_ENTRIES", X.nnz // 3)
    whole = gram.gram_matrix([rows], 2), gram.transposed_product(rows, duals, 2)
    monkeypatch.setattr(layers_rows, "_PIECE_ENTRIES", X.nnz // 3)
    assert len(list(rows.pieces())) > 2
    assert_array_equal(gram.gram_matrix([rows], 2), whole[0])
    assert_array_equal(gram.transposed_product(rows, duals, 2), whole[1])
    assert_allclose(whole[0], (X @ X.T).toarray() + 1, atol=1e-12)


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_threads_hold_one_gram_matrix(density):
    X = sparse.random(2000, 500, density, format="csr", dtype=np.float32, random_state=0)
    gram.gram_matrix([MemoryRows(sparse.csr_array(X[:50]))], 4)  # compiles
    tracemalloc.start()
    found = gram.gram_matrix([MemoryRows(sparse.csr_array(X))], 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < found.nbytes  # beside the matrix itself, which is not NumPy's


@pytest.mark.parametrize("columns", [slice(None, 70), slice(70, 150), slice(70, None), slice(200, 200)])
def test_products_of_some_columns_of_several_rows(monkeypatch, columns):
    """Columns that few rows have, between those that many have."""
    halves = [sparse.random(300, 100, density, format="csc", random_state=0) for density in (0.02, 0.3)]
    X = sparse.hstack(halves, format="csc")[:, np.random.default_rng(0).permutation(200)].tocsr()
    parts = [MemoryRows(sparse.csr_array(X[rows])) for rows in (slice(90), slice(90, 100), slice(100, 300))]
    for of_piece, entries in ((1 << 24, 8_000_000), (X.nnz // 4, 90)):
        monkeypatch.setattr(layers_rows, "_PIECE_ENTRIES", of_piece)
        monkeypatch.setattr(gram, "_DENSE_ENTRIES", entries)
        monkeypatch.setattr(gram, "_LISTED_ENTRIES", entries)
        own = X[:, columns].toarray()
        assert_allclose(gram.gram_matrix(parts, 2, columns), own @ own.T + 1, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_entries_given_twice_add_up(solver):
    X, y, _ = problem(TALL, 3)
    twice = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    found = LinearSVM(solver=solver, tol=1e-9).fit(twice, y).coef_
    assert_allclose(found, LinearSVM(solver=solver, tol=1e-9).fit(X, y).coef_, atol=1e-6)
    assert twice.nnz == 2 * X.nnz
