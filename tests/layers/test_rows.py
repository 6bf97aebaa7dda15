"""An SVM on rows in a store, a block at a time: the very answer of memory."""

import copy
import pickle
import tempfile
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ddlcn.errors import DDLCNError
from ddlcn.kernels import svm as kernels
from ddlcn.layers import descent, gram, growing, rows, stored_rows
from ddlcn.layers.rows import MemoryRows
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.layers.svm import LinearSVM
from ddlcn.store import Store
from tests.layers.test_svm import problem


@pytest.fixture(scope="module")
def task():
    X, y, _ = problem((240, 80, 0.08), 4)
    return csr_array(X).astype(np.float32), y


def stored(X, folder, size=60):
    store, names = Store(folder), []
    for start in range(0, X.shape[0], size):
        names.append(f"rows-{start}")
        store.write(names[-1], csr_array(X[start : start + size]))
    return StoredRows(store, names, X.shape)


def mapped(X, size=60):
    """Rows of which there is no room for a hundred entries."""
    parts = [X[start : start + size] for start in range(0, X.shape[0], size)]
    found = MemoryRows(parts[0], room=100).add(parts[1:])
    assert not found.are_few
    return found


@pytest.mark.parametrize(
    ("solver", "entries", "at_once"),
    [
        ("gram", 1 << 24, 16),
        ("gram", 500, 16),
        ("coordinates", 1 << 24, 16),
        ("coordinates", 500, 16),
        ("coordinates", 500, 1),
    ],
)
def test_the_answer_of_memory(task, tmp_path, monkeypatch, solver, entries, at_once):
    X, y = task
    whole = LinearSVM(1.0, solver, tol=1e-9, n_jobs=2).fit(X, y)
    monkeypatch.setattr(rows, "_MOST_ENTRIES", entries)
    monkeypatch.setattr(rows, "_PIECE_ENTRIES", entries // 2)
    monkeypatch.setattr(rows, "IN_REACH", 7)
    monkeypatch.setattr(stored_rows, "_NEAR_ENTRIES", entries)
    truth = LinearSVM(1.0, solver, tol=1e-9, n_jobs=2).fit(X, y)
    assert_allclose(truth.coef_, whole.coef_, atol=1e-4)
    monkeypatch.setattr(descent, "_CLASSES_AT_ONCE", at_once)
    monkeypatch.setattr(descent, "_MOST_WEIGHTS", 2 * X.shape[1])
    for elsewhere, long in ((stored(X, tmp_path), 0), (mapped(X), 0), (mapped(X), 1 << 11)):
        monkeypatch.setattr(rows, "_LONG", long)
        found = LinearSVM(1.0, solver, tol=1e-9, n_jobs=2).fit(elsewhere, y)
        assert_array_equal(found.coef_, truth.coef_)
        assert_array_equal(found.intercept_, truth.intercept_)
        assert (found.C_, found.scale_) == (truth.C_, truth.scale_)
        assert found.duality_gap_.max() <= 1e-6


def test_a_large_gram_matrix_and_large_weights_are_in_files(task, monkeypatch):
    """Nothing but their home changes, and they come along when a model is copied or sent elsewhere."""
    X, y = task
    truth = LinearSVM("cv", "gram", n_jobs=2).fit(X, y)
    monkeypatch.setattr(gram, "_LARGE", 100)
    monkeypatch.setattr(gram, "_HELD", 100)
    monkeypatch.setattr(gram, "_LISTED_ENTRIES", 90)
    monkeypatch.setattr(descent, "IN_REACH", 7)
    products = gram.gram_matrix([MemoryRows(X)], 2)
    assert growing.is_mapped(products)
    assert_array_equal(products, products.T)
    assert_allclose(products, (X @ X.T).toarray() + 1, atol=1e-6)
    found = LinearSVM("cv", "gram", n_jobs=2).fit(X, y)
    assert growing.is_mapped(found.coef_)
    assert not growing.is_mapped(truth.coef_)
    assert_allclose(found.coef_, truth.coef_, atol=1e-6)
    assert (found.C_, found.scale_) == (truth.C_, pytest.approx(truth.scale_, rel=1e-4))
    monkeypatch.setattr(gram, "_LARGE", 1 << 24)
    monkeypatch.setattr(gram, "_HELD", 1 << 21)
    assert_array_equal(LinearSVM("cv", "gram", n_jobs=2).fit(X, y).coef_, found.coef_)
    for other in (sent := pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert not growing.is_mapped(other.coef_)
        assert other.coef_.flags.writeable  # what is mapped is not: a process that was forked would share it
        assert_array_equal(other.coef_, found.coef_)
    with pytest.raises(ValueError, match="read-only"):
        found.coef_[:] = 0
    turned = csr_array((X.data[::-1], X.indices[::-1], X.nnz - X.indptr[::-1]), X.shape)  # columns fall
    for asked in (X, X.toarray(), turned):
        assert_array_equal(found.decision_function(asked), sent.decision_function(asked))
        assert_allclose(found.decision_function(asked), asked @ sent.coef_.T + sent.intercept_, atol=1e-6)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory of files")
def test_a_large_gram_matrix_takes_little_memory(monkeypatch):
    """Of 67 MB some 33 are there at a time while it is made, and then a third and what is in reach."""
    rng, n = np.random.default_rng(0), 4100
    X = csr_array(
        (np.ones(10 * n, np.float32), rng.integers(0, 9000, 10 * n), np.arange(n + 1) * 10), (n, 9000)
    )
    X.sum_duplicates()
    gram.gram_matrix([MemoryRows(X[:300])], 1)  # compiles
    before, held, add, passed = in_memory(), [], growing.Growing.add, kernels.gram_pass
    monkeypatch.setattr(
        growing.Growing, "add", lambda self, more: held.append(in_memory() - before) or add(self, more)
    )
    found = gram.gram_matrix([MemoryRows(X)], 1)
    assert len(held) == 16
    assert max(held) < 55
    assert in_memory() - before < 12
    assert_array_equal(found[::97], (X[::97] @ X.T).toarray() + 1)
    growing.forget(found)
    held.clear()

    def looked(*given):
        passed(*given)
        held.append(in_memory() - before)
        return 0.0

    monkeypatch.setattr(kernels, "gram_pass", looked)
    state = (1e6, np.zeros(n), np.zeros(n))  # steps so small that every line is looked at
    descent._gram_step(found, np.ones(n, np.int8), state, rng.permutation(n))
    assert len(held) == 17
    assert 25 < max(held) < 55


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory of files")
def test_large_weights_take_little_memory():
    X = csr_array(np.ones((3, 1 << 18), np.float32))
    weights = gram.transposed_product(MemoryRows(X), np.ones((64, 3)), 1)  # 64 MB
    assert growing.is_mapped(weights)
    gram.product(X[:, :64], weights[:64])  # compiles
    before = in_memory()
    assert_array_equal(gram.product(X, weights), 3.0 * (1 << 18) * np.ones((3, 64), np.float32))
    assert in_memory() - before < 10


@pytest.mark.parametrize("solver", ["gram", "coordinates"])
def test_rows_of_a_store_are_copied_to_a_file(task, tmp_path, monkeypatch, solver):
    X, y = task
    truth = LinearSVM(1.0, solver, n_jobs=2).fit(X, y)
    monkeypatch.setattr(stored_rows, "ROOM", 100)
    kept = stored(X, tmp_path)
    assert not kept.are_few
    assert kept.are_near
    assert "_copy" not in vars(kept)  # a client of a cluster asks, and needs none
    found = LinearSVM(1.0, solver, n_jobs=2).fit(kept, y)
    assert growing.is_mapped(kept._near.load().data)
    assert_array_equal(found.coef_, truth.coef_)


@pytest.mark.parametrize("rows_of_store", [True, False])
def test_rows_of_a_store_are_read_a_few_times(task, tmp_path, monkeypatch, rows_of_store):
    X, _ = task
    monkeypatch.setattr(gram, "_LARGE", 100)
    monkeypatch.setattr(gram, "_LISTED_ENTRIES", 90)
    monkeypatch.setattr(stored_rows, "_NEAR_ENTRIES", 500)
    given, read = (stored(X, tmp_path) if rows_of_store else mapped(X)), []
    pieces = type(given).pieces
    monkeypatch.setattr(type(given), "pieces", lambda self: read.append(0) or pieces(self))
    found = gram.gram_matrix([given], 2)
    passes = len(read)
    gram.transposed_product(given, np.ones((3, X.shape[0])), 2)
    assert (len(read) - passes == 2) == rows_of_store
    assert_allclose(found, (X @ X.T).toarray() + 1, atol=1e-6)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory of files")
def test_what_is_forgotten_takes_no_memory_and_is_not_lost():
    grown = growing.Growing(np.arange(1 << 22), most=0)  # 32 MB
    grown.add(np.arange(1000))
    values = grown.values.reshape(1, -1).T
    before = in_memory()
    total = values.sum()
    seen = in_memory() - before
    growing.forget(values[: 1 << 21])
    half = in_memory() - before
    growing.forget(values)
    assert seen > 30
    assert 12 < half < 20
    assert in_memory() - before < 2
    assert values.sum() == total == (1 << 22) * ((1 << 22) - 1) // 2 + 1000 * 999 // 2
    growing.forget(np.arange(9))  # in memory: stays


def test_no_more_than_a_block_is_held_if_few_rows_support_the_weights(tmp_path, monkeypatch):
    rng, y = np.random.default_rng(0), np.arange(600) % 3
    X = csr_array(np.where(np.arange(30) % 3 == y[:, None], rng.random((600, 30)), 0).astype(np.float32))
    monkeypatch.setattr(rows, "_MOST_ENTRIES", X.nnz // 4)
    monkeypatch.setattr(stored_rows, "_NEAR_ENTRIES", X.nnz // 4)
    kept, held, read = stored(X, tmp_path), [], StoredRows._read
    monkeypatch.setattr(
        StoredRows, "_read", lambda self, n: held.append(self._facts.entries[n].sum()) or read(self, n)
    )
    monkeypatch.setattr(StoredRows, "load", None)
    assert LinearSVM(solver="coordinates").fit(kept, y).duality_gap_.max() <= 1e-6
    assert 0 < max(held) <= X.nnz // 4


def scores_by_column(block, numbers, X):
    """Scores of rows by weights of 1 for a column each, without a bias: the rows."""
    weights = np.eye(X.shape[1], X.shape[1] + 1)
    return np.column_stack([kernels.scores(*block, numbers, line) for line in weights])


@pytest.mark.parametrize("room", [None, 100, 370, 1 << 20])
@pytest.mark.parametrize("ours", [False, True])
def test_rows_that_grow(task, ours, room):
    X, before = task[0], task[0].toarray()
    given = X[:50]
    grown = MemoryRows(given, room)
    if ours:  # arrays that have grown before grow where they are
        grown = grown.add([X[50:60]])
    start = grown.shape[0]
    grown = grown.add(X[n : n + 1] for n in range(start, X.shape[0]))
    assert_array_equal(grown.load().toarray(), before)
    assert_array_equal(given.toarray(), before[:50])  # what was given stays as it is


def test_rows_that_grow_are_held_once():
    part = csr_array(np.ones((100, 1000), np.float32))
    tracemalloc.start()
    grown = MemoryRows(part).add([part] * 30).add([part] * 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * 41 * (part.data.nbytes + part.indices.nbytes)
    assert grown.shape == (4100, 1000)


@pytest.mark.parametrize("few", [500, 1 << 26])
def test_blocks_and_gathered_rows_are_the_rows(task, tmp_path, monkeypatch, few):
    X, _ = task
    monkeypatch.setattr(rows, "_MOST_ENTRIES", 500)
    monkeypatch.setattr(rows, "_PIECE_ENTRIES", 200)
    monkeypatch.setattr(stored_rows, "_NEAR_ENTRIES", few)
    kept, memory, file = stored(X, tmp_path), MemoryRows(X), mapped(X)
    monkeypatch.setattr(rows, "IN_REACH", 7)
    marks, truth = np.random.default_rng(0).random((3, X.shape[0])) < 0.2, X.toarray()
    order = np.random.default_rng(1).permutation(X.shape[0])
    for home in (kept, memory, file):
        assert_allclose(home.squares, (truth**2).sum(axis=1), rtol=1e-6)
        assert_array_equal(home[np.arange(3, 200, 7)].toarray(), truth[3:200:7])
        assert len(list(home.blocks())) > 2
        for blocks in (list(home.blocks()), list(home.pieces())):
            assert [block.first for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
            everything = [scores_by_column(block, np.arange(block.first, block.stop), X) for block in blocks]
            assert_array_equal(np.concatenate(everything), truth)
        assert_array_equal(np.concatenate(list(home.in_reach(order))), order)
        asked = []
        for lines, numbers, block in home.gather(marks):
            asked += lines
            assert_array_equal(scores_by_column(block, np.arange(block.stop), X), truth[numbers])
            assert set(np.flatnonzero(marks[lines].any(axis=0))) <= set(np.arange(len(truth))[numbers])
        assert asked == [0, 1, 2]
    assert_array_equal(kept.load().toarray(), truth)
    assert len(list(file.gather(marks))) > 1 == len(list(memory.gather(marks)))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory of files")
def test_rows_in_a_file_take_the_memory_of_a_block(monkeypatch):
    monkeypatch.setattr(rows, "_MOST_ENTRIES", 1 << 20)  # 8 MB
    part = csr_array(np.ones((1024, 256), np.float32))
    kernels.squared_lengths(part.indptr, part.data)  # compiles
    before = in_memory()
    grown = MemoryRows(part, room=1 << 20).add([part] * 63)  # 128 MB
    held = []
    for block in grown.blocks():
        assert kernels.squared_lengths(block.indptr, block.data).sum() == (block.stop - block.first) * 256
        held.append(in_memory() - before)
    assert len(held) == 16
    grown[np.arange(0, 65536, 16)]
    held.append(in_memory() - before)
    monkeypatch.setattr(rows, "_LONG", 256)
    [(_, _, block)], order = grown.gather(np.ones((1, 65536), np.bool_)), np.random.permutation(65536)
    for numbers in grown.in_reach(order[:4096]):
        kernels.scores(*block, numbers, np.zeros(257))
        held.append(in_memory() - before)
    assert max(held) < 40


def in_memory():
    """Megabytes of this process that are in memory, those of files among them."""
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)
    return int(found.split()[1]) / 1024


def test_no_room_for_the_file(task, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(DDLCNError, match=r"can't write a temporary file in .*gone.*TMPDIR"):
        mapped(task[0])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(task, monkeypatch):
    full = partial(open, "/dev/full", "wb", buffering=0)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full())
    monkeypatch.setattr(gram, "_LARGE", 100)
    monkeypatch.setattr(gram, "_HELD", 100)
    given, duals = MemoryRows(task[0]), np.ones((3, task[0].shape[0]))
    for use in (
        lambda: mapped(task[0]),
        lambda: gram.gram_matrix([given], 2),
        lambda: gram.transposed_product(given, duals, 2),
    ):
        with pytest.raises(DDLCNError, match=r"No space left on device.*TMPDIR"):
            use()


def test_no_room_to_map_a_file(task, monkeypatch):
    def refused(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(growing, "_Map", refused)
    with pytest.raises(MemoryError, match="map a file"):
        mapped(task[0])


def test_what_was_solved_is_not_solved_again(task, tmp_path, monkeypatch):
    X, y = task
    truth = LinearSVM().fit(stored(X, tmp_path), y)
    monkeypatch.setattr(descent.Problem, "descent", None)
    assert_array_equal(LinearSVM().fit(stored(X, tmp_path), y).coef_, truth.coef_)
