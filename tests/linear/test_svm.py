"""LinearSVM: LIBLINEAR's problem, certified by the duality gap and by scikit-learn's LinearSVC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import recall_score
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn.errors import DDLCNError
from ddlcn.linear.svm import LinearSVM
from tests.linear.problems import TALL, WIDE, noisy, on_disk

each_solver = pytest.mark.parametrize("solver", ["gram", "sparse"])
each_shape = pytest.mark.parametrize("shape", [WIDE, TALL])
WRONG_WEIGHTS = ([1.0], np.full(4, -1.0), np.full(4, np.nan), np.full(4, np.inf))
WRONG_GROUPS = ([0, 0, 2], [0, 0, 2, 4], [-4, 1, 2, 3], [0.0, 0.0, 2.0, 2.0], [1, 0, 2, 3], [0, 1, 2, 1])


def liblinear(C=1.0, **parameters):
    return LinearSVC(C=C, loss="squared_hinge", dual=True, tol=1e-9, max_iter=100_000, **parameters)


def assert_same_scores(model, peer, rows, y):
    """But for a part of what the sizes of the classes in y add to the scores: the same part for each class."""
    shares = np.array([(y == c).mean() for c in model.classes_])
    bias = 2 * (shares - shares.mean()) if len(shares) > 2 else np.diff(shares)
    gaps = (model.decision_function(rows) - peer.decision_function(rows)).reshape(-1, len(bias))
    part = -gaps.mean(axis=0) @ bias / (bias @ bias)
    assert -1e-3 <= part <= 1 + 1e-3
    assert_allclose(gaps, np.tile(-part * bias, (len(gaps), 1)), atol=1e-3)


def unbalanced(sizes, seed=0, n_test=200, d=1000):
    """Normal classes with the same spread, equally far from each other; and as many test rows of each."""
    rng, centres = np.random.default_rng(seed), 4.5 * np.eye(d)[: len(sizes)]
    y, y_test = np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(sizes)), n_test)
    parts = [(centres[each] + rng.normal(size=(len(each), d))) / d**0.5 for each in (y, y_test)]
    return parts[0], y, parts[1], y_test


def assert_same_model(found, truth):
    for name in ("coef_", "intercept_", "C_", "scale_", "duality_gap_"):
        assert_array_equal(getattr(found, name), getattr(truth, name), err_msg=name)


def with_copies(n=60, seed=0):
    """Labels that only chance decides, and a copy of each row with a little noise."""
    rng = np.random.default_rng(seed)
    X = np.tile(rng.normal(size=(n, 30)), (2, 1))
    X += 0.01 * rng.normal(size=X.shape)
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.tile(rng.integers(2, size=n), 2), np.tile(np.arange(n), 2)


@parametrize_with_checks(
    [LinearSVM(C=1e-3, tol=1e-3)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "repeated rows change the folds, so offsets differ"
        for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("C", "choices"), [(0.01, [1]), (1.0, [1]), (100.0, [1]), (1.0, [0.0, 0.1, 1.0, 7.5])])
@pytest.mark.parametrize("n_classes", [2, 4])
@each_shape
@each_solver
def test_agrees_with_liblinear(solver, shape, n_classes, C, choices):
    X, y, unseen = noisy(shape, n_classes)
    weights = np.random.default_rng(0).choice(choices, size=len(y))
    peer, model = liblinear(C).fit(X, y, weights), LinearSVM(C, solver=solver, tol=1e-8).fit(X, y, weights)
    assert model.coef_.shape == peer.coef_.shape
    assert_array_equal(model.classes_, peer.classes_)
    assert -1e-9 <= model.duality_gap_.min() <= model.duality_gap_.max() <= 1e-8
    for rows in (X, unseen):
        assert_same_scores(model, peer, rows, y[weights > 0])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weight(class_weight):
    X, y, unseen = noisy(TALL, 2)
    y[:400] = 0
    model = LinearSVM(class_weight=class_weight, tol=1e-8).fit(X, y)
    peer = liblinear(class_weight=class_weight).fit(X, y)
    assert_same_scores(model, peer, unseen, y)
    weights = np.linspace(0.5, 2, len(y))
    both = LinearSVM(class_weight=class_weight).fit(X, y, weights)
    assert_same_model(both, LinearSVM().fit(X, y, weights * compute_sample_weight(class_weight, y)))


@pytest.mark.parametrize("sizes", [(60, 6), (60, 20, 6), (60, 6, 6, 6, 6)])
def test_classes_of_different_sizes(sizes):
    """Small classes are found, at no loss where test rows are as unbalanced; "balanced" makes recalls about equal."""
    recalls = {None: [], "balanced": [], "liblinear": []}
    for seed in range(5):
        X, y, X_test, y_test = unbalanced(sizes, seed)
        for name, found in recalls.items():
            model = liblinear(100.0) if name == "liblinear" else LinearSVM("auto", name)
            found.append(recall_score(y_test, model.fit(X, y).predict(X_test), average=None))
    plain, balanced, peer = (np.mean(each, axis=0) for each in recalls.values())
    assert plain[-1] > peer[-1] + 0.1
    assert np.average(plain, weights=sizes) > np.average(peer, weights=sizes)
    assert balanced.mean() > plain.mean()
    assert balanced[-1] > plain[-1] + 0.1


@pytest.mark.parametrize("sizes", [(9, 3), (9, 3, 2)])
def test_labels_and_held_out_scores_agree_with_probabilities(sizes):
    X, y, X_test, _ = unbalanced(sizes)
    model = LinearSVM("auto").fit(X, y)
    assert_array_equal(model.predict(X_test), model.predict_proba(X_test).argmax(axis=1))
    rows, scores = model.held_out_
    likelihood = model.log_probabilities(scores)[np.arange(len(rows)), y[rows]].mean()
    assert_allclose(likelihood, max(each["log_likelihood"] for each in model.selection_))


@each_solver
def test_zero_weight_is_removal(solver):
    X, y, unseen = noisy(TALL, 3)
    keep = np.arange(len(y)) % 3 > 0
    model = LinearSVM("auto", "balanced", solver, 1e-9).fit(X, y, sample_weight=keep)
    truth = LinearSVM("auto", "balanced", solver, 1e-9).fit(X[keep], y[keep])
    assert model.C_ == truth.C_
    assert_allclose(model.scale_, truth.scale_, rtol=0.02)
    assert_allclose(model.decision_function(unseen), truth.decision_function(unseen), atol=1e-3)


@each_solver
def test_any_n_jobs_and_memory_mapped_rows(solver, tmp_path):
    X, y, unseen = noisy(TALL, 4, dtype=np.float32)
    truth = LinearSVM("auto", solver=solver).fit(X, y)
    for n_jobs, rows in ((1, X), (2, on_disk(X, tmp_path)), (5, X)):
        assert_same_model(LinearSVM("auto", solver=solver, n_jobs=n_jobs).fit(rows, y), truth)
    assert_array_equal(truth.scores(on_disk(unseen, tmp_path)), truth.scores(unseen))


@each_shape
def test_dense_and_double_precision(shape):
    X, y, _ = noisy(shape, 3)
    truth = LinearSVM(tol=1e-9).fit(X, y)
    assert_same_model(LinearSVM(tol=1e-9).fit(X.toarray(), y), truth)
    single = LinearSVM(tol=1e-9).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, truth.coef_, atol=1e-3)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_batch_equals_single(n_classes, dense):
    X, y, unseen = noisy(WIDE, n_classes, dtype=np.float32)
    model, rows = LinearSVM().fit(X, y), unseen.toarray() if dense else unseen
    scores, probabilities = model.decision_function(rows), model.predict_proba(rows)
    for size in (1, 7):
        parts = [rows[start : start + size] for start in range(0, rows.shape[0], size)]
        assert_array_equal(np.concatenate([model.decision_function(part) for part in parts]), scores)
        assert_array_equal(np.concatenate([model.predict_proba(part) for part in parts]), probabilities)


def test_single_image_per_class():
    X, unseen = np.eye(4), np.array([[0.1, 0.9, 0, 0]])
    model = LinearSVM("auto").fit(X, np.arange(4))
    assert (model.C_, model.scale_, model.selection_) == (10.0, 1.0, [])
    assert_array_equal(model.predict(unseen), [1])
    assert LinearSVM(2.0).fit(X, np.arange(4)).C_ == 2.0


@each_solver
def test_C_auto(solver):
    X, y, _ = noisy(TALL, 3)
    model = LinearSVM("auto", solver=solver).fit(X, y)
    assert [each["candidate"] for each in model.selection_] == [0.1, 1.0, 10.0, 100.0]
    assert {each["setting"] for each in model.selection_} == {"C"}
    best = max(model.selection_, key=lambda each: each["log_likelihood"])
    assert [each["candidate"] for each in model.selection_ if each["chosen"]] == [best["candidate"]] == [model.C_]
    given = LinearSVM(model.C_, solver=solver).fit(X, y)
    assert given.selection_ == []
    assert_allclose(given.scale_, model.scale_, rtol=0.02)
    assert_array_equal(given.coef_, model.coef_)


def test_calibrated_probabilities():
    """Of the rows said to be right with some probability, about that share is right."""
    X, y, _ = noisy((3000, 40, 0.5), 3)
    probabilities = LinearSVM().fit(X[:1500], y[:1500]).predict_proba(X[1500:])
    right = probabilities.argmax(axis=1) == y[1500:]
    assert abs(right.mean() - probabilities.max(axis=1).mean()) < 0.04


def test_groups_keep_copies_out():
    """Chance can not be learnt; where copies of held-out rows train, it seems so."""
    X, y, groups = with_copies()
    honest, leaking = LinearSVM("auto").fit(X, y, groups=groups), LinearSVM("auto").fit(X, y)
    gain = max(each["log_likelihood"] for each in leaking.selection_) - np.log(0.5)
    assert gain > 0.1
    assert max(each["log_likelihood"] for each in honest.selection_) < np.log(0.5) + gain / 3
    assert honest.scale_ < leaking.scale_
    assert_array_equal(LinearSVM().fit(X, y, groups=groups).coef_, LinearSVM().fit(X, y).coef_)


def test_many_rows():
    """Probabilities are calibrated on a sample of originals, without copies; all rows train."""
    X, y, _ = noisy((9000, 20, 0.5), 3, dtype=np.float32)
    groups, copied = np.concatenate([np.arange(9000), np.arange(1500)]), y[:1500]
    models = [
        LinearSVM(0.1).fit(sparse.vstack([X, copies]), np.concatenate([y, copied]), groups=groups)
        for copies in (X[:1500], X[-1500:])
    ]
    assert models[0].scale_ == models[1].scale_
    assert np.abs(models[0].coef_ - models[1].coef_).max() > 1e-3


@each_solver
def test_convergence_warning(solver):
    X, y = np.array([[1e7, 1.0], [1e7, 1.1], [1e7, 1.2]]), np.array([0, 1, 0])
    with pytest.warns(ConvergenceWarning, match=r"duality gap of .*, above tol=1e-06: scale"):
        LinearSVM(solver=solver).fit(X, y)


def test_empty_rows():
    X, y, _ = noisy(TALL, 2)
    X, y = sparse.vstack([X, sparse.csr_array((30, X.shape[1]))], format="csr"), np.r_[y, np.tile([0, 1, 1], 10)]
    assert_same_scores(LinearSVM(tol=1e-8).fit(X, y), liblinear().fit(X, y), X, y)


@each_solver
def test_duplicate_entries_add_up(solver):
    X, y, _ = noisy(TALL, 3)
    twice = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    model = LinearSVM(solver=solver).fit(twice, y)
    assert_array_equal(model.coef_, LinearSVM(solver=solver).fit(X, y).coef_)
    assert_array_equal(model.scores(twice), model.scores(X))
    assert twice.nnz == 2 * X.nnz


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"C": 0}, {}, "C=0: must be a positive number or"),
        ({"C": "cv"}, {}, "C='cv': must be a positive number or"),
        ({"solver": "fast"}, {}, "solver='fast': choose"),
        ({"class_weight": "equal"}, {}, "class_weight='equal'"),
        *(({}, {"sample_weight": each}, "sample_weight must be 4 finite numbers from 0 on") for each in WRONG_WEIGHTS),
        ({}, {"sample_weight": np.zeros(4)}, "all sample weights are zero"),
        ({}, {"sample_weight": [1, 1, 0, 0]}, r"only one class \('a'\): a classifier needs at least 2"),
        *(({}, {"groups": groups}, "groups must give, for each of 4 rows") for groups in WRONG_GROUPS),
    ],
)
def test_invalid_input(parameters, given, message):
    with pytest.raises(DDLCNError, match=message):
        LinearSVM(**parameters).fit(np.eye(4), np.array(["a", "a", "b", "b"]), **given)


@pytest.mark.parametrize(("y", "compared"), [([0, 0, 1], 0), ([0, 0, 1, 1], 4)])
def test_few_held_out_rows_choose_no_C(y, compared):
    svm = LinearSVM("auto").fit(np.eye(4)[: len(y)], y)
    assert len(svm.selection_) == compared
    assert compared or svm.C_ == 10
