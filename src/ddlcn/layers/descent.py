"""Dual coordinate descent for one-vs-rest squared-hinge SVMs (the problem is in `svm`).

Few images: on their Gram matrix. Many: on their sparse rows. Either way a class at a time, in rounds: passes
over its variables that may move, until they are calm, then a look at all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import chain, pairwise
from threading import Lock
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array

from ddlcn.cluster import active_client
from ddlcn.kernels import svm as kernels
from ddlcn.layers.rows import Block, MemoryRows, Rows
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.store import Shared, Store

_LARGEST_GRAM = 10_000  # images; 400 MB
_FEW = 4  # images for each entry in the row of one: up to here the Gram matrix was the faster way
_HEAVY = 1 / 8  # share of rows that have a column, from which a dense product is the faster way
_SPARSE = 0.02  # share of entries below which weights are summed entry by entry
_STRIPES = 16  # of a Gram matrix, shared out among threads; fixed, as last digits depend on it
_BLOCK_ENTRIES = 8_000_000  # of the columns of a block, dense or not
_CLASSES_AT_ONCE = 16  # that sparse rows are gone through for
_CALMER = 0.1  # a round ends when the worst slope has shrunk to this part
_MOST_PASSES, _MOST_ROUNDS = 100, 1000


class Problem:
    """Rows and their classes, solved by dual coordinate descent on the Gram matrix or on the sparse rows.

    `codes` are 0, 1, …; of two classes only class 1 is solved for. Rows of a store are solved by units of it.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, solver: str, tol: float, seed: int | None, n_jobs: int | None
    ) -> None:
        self.rows: Rows = X if isinstance(X, MemoryRows | StoredRows) else MemoryRows(csr_array(X))
        self.codes, self.solver, self.tol, self.seed, self.n_jobs = codes, solver, tol, seed, n_jobs
        n_classes = codes.max() + 1
        self.classes = np.arange(n_classes) if n_classes > 2 else np.array([1])
        few = X.shape[0] <= min(_LARGEST_GRAM, _FEW * self.rows.n_entries / X.shape[0])
        self.by_gram = solver == "gram" or (solver == "auto" and few)
        self._lock = Lock()

    @property
    def gram(self) -> np.ndarray:
        """X Xᵀ + 1; made once, by whoever needs it first."""
        with self._lock:
            return self._gram

    @cached_property
    def _gram(self) -> np.ndarray:
        return _gram(self.rows, self.n_jobs)

    def solve(self, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (k, d), biases and relative duality gaps on all rows."""
        parts = self._for_parts(solve_classes, C)
        found, gaps = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        if self.by_gram:
            weights, biases = self._weights(found)
        else:
            weights, biases = found[:, :-1], found[:, -1].copy()
        # column by column, as products with sparse rows read it
        return np.asfortranarray(weights, self.rows.dtype), biases, gaps

    def _weights(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, duals = self.rows, np.where(self.codes == self.classes[:, None], alphas, -alphas)
        if rows.n_entries >= _SPARSE * rows.shape[0] * rows.shape[1]:
            return _transposed_product(rows, duals).T, duals.sum(axis=1)
        weights, signs = np.zeros((len(self.classes), rows.shape[1] + 1)), np.ones(len(self.codes))
        for block in rows.blocks():
            for own, line in zip(duals, weights, strict=True):
                kernels.combine(*block, signs, own, line)
        return weights[:, :-1], weights[:, -1]

    def held_out_scores(self, candidates: tuple[float, ...], folds: np.ndarray) -> list[np.ndarray]:
        """For each C, scores of each row by a model trained without its fold.

        Rows of fold −1 are never held out; those of fold −2 take no part at all.
        """
        found = [np.zeros((len(self.codes), len(self.classes))) for _ in candidates]
        for fold in range(folds.max() + 1):
            paths = self._for_parts(hold_out, folds, fold, candidates)
            for scores, of_parts in zip(found, zip(*paths, strict=True), strict=True):
                scores[folds == fold] = np.concatenate(of_parts).T
        return found

    def _for_parts(self, do: Callable[..., Any], *settings: Any) -> list[Any]:
        """Do something for the classes in parts of a size that no answer depends on."""
        k, rows = len(self.classes), self.rows
        n_jobs = self.n_jobs if self.by_gram or rows.are_few else 1  # a block a thread would be too much
        if not isinstance(rows, StoredRows):
            parts = np.array_split(self.classes, k if self.by_gram else -(-k // _CLASSES_AT_ONCE))
            return Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(do)(self, part, *settings) for part in parts
            )
        at_once = _CLASSES_AT_ONCE
        if self.by_gram or active_client() is not None:  # then classes share nothing but what is read
            at_once = min(at_once, -(-k // 16))
        given = (rows.names, rows.shape, rows.store.keep(self.codes), self.solver, self.tol, self.seed)
        shared = Shared(_stored_problem, rows.store, *given, made=self)
        calls = [(shared, part, *settings) for part in np.array_split(self.classes, -(-k // at_once))]
        return [rows.store.read(name) for name in rows.store.finish("svm", do, calls, n_jobs)]

    def descent(self, classes: np.ndarray, train: np.ndarray) -> _Descent:
        """Some classes, to be trained on the rows that `train` marks."""
        if self.by_gram:
            return _GramDescent(self.gram, self.codes, classes, train, self.seed)
        return _SparseDescent(self.rows, self.codes, classes, train, self.seed, n_jobs=self.n_jobs)


def _stored_problem(
    store: Store,
    names: list[str],
    shape: tuple[int, int],
    codes: str,
    solver: str,
    tol: float,
    seed: int | None,
) -> Problem:
    return Problem(StoredRows(store, names, shape), store.read(codes), solver, tol, seed, None)


def solve_classes(problem: Problem, classes: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """What a descent found for some classes, a line each, and the gaps."""
    descent = problem.descent(classes, np.ones(len(problem.codes), np.bool_))
    gaps = descent.descend(C, problem.tol)
    return descent.found(), gaps


def hold_out(
    problem: Problem, classes: np.ndarray, folds: np.ndarray, fold: int, candidates: tuple[float, ...]
) -> tuple[np.ndarray, ...]:
    """For each C, scores (k, n) of the rows of a fold by the others; each C starts where the last ended."""
    descent, found = problem.descent(classes, (folds != fold) & (folds >= -1)), []
    for C in candidates:
        descent.descend(C, max(problem.tol, 1e-3))
        found.append(descent.scores(folds == fold))
    return tuple(found)


class _Descent(ABC):
    """Some classes at a time: their dual variables, and which of them may move."""

    def __init__(self, codes: np.ndarray, classes: np.ndarray, train: np.ndarray, seed: int | None) -> None:
        self.classes, self.train = classes, train
        self.targets = np.where(codes == classes[:, None], np.int8(1), np.int8(-1))
        self.alphas = np.zeros(self.targets.shape)
        self.active = np.zeros(self.alphas.shape, np.bool_)
        self.rng, *self.rngs = (np.random.RandomState(seed) for _ in range(len(classes) + 1))

    def descend(self, C: float, tol: float) -> np.ndarray:
        """Go on from where the variables are until the relative duality gap of each class is small."""
        ridge = 1 / (2 * C)
        for _ in range(_MOST_ROUNDS):
            losses, squared_norms = self.look(ridge)
            primal = squared_norms / 2 + C * losses
            dual = (self.alphas - ridge / 2 * self.alphas**2).sum(axis=1) - squared_norms / 2
            gaps = (primal - dual) / primal
            restless = np.flatnonzero(gaps > tol)
            if not len(restless):
                break
            self.settle(restless, ridge, np.sqrt(tol))  # gaps go with slopes squared
        return gaps

    @abstractmethod
    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """The losses of all rows and the squared norms of the weights, by class; and which may move."""

    @abstractmethod
    def settle(self, restless: np.ndarray, ridge: float, slope: float) -> None:
        """Pass over the active variables of some classes until no slope is steep."""

    @abstractmethod
    def scores(self, marks: np.ndarray) -> np.ndarray:
        """Scores (k, n) of the marked rows after the last look."""

    @abstractmethod
    def found(self) -> np.ndarray:
        """What `Problem.solve` makes weights of: a line for each class."""


def _calm(
    step: Callable[[np.ndarray], float], rows: np.ndarray, rng: np.random.RandomState, slope: float
) -> None:
    for _ in range(_MOST_PASSES):
        worst = step(rng.permutation(rows))
        slope = max(slope, _CALMER * worst)
        if worst <= slope:
            break


class _GramDescent(_Descent):
    """On the Gram matrix (with 1 added for the bias): a step changes all scores."""

    def __init__(self, gram: np.ndarray, *problem: Any) -> None:
        super().__init__(*problem)
        self.gram, self.all_scores = gram, np.zeros(self.targets.shape)

    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        slopes = self.targets * self.all_scores - 1
        self.active = self.train & ((self.alphas > 0) | (slopes < 0))
        losses = (np.minimum(slopes[:, self.train], 0) ** 2).sum(axis=1)
        return losses, (self.targets * self.alphas * self.all_scores).sum(axis=1)

    def settle(self, restless: np.ndarray, ridge: float, slope: float) -> None:
        for c in restless:
            state = (ridge, self.alphas[c], self.all_scores[c])
            step = partial(_gram_step, self.gram, self.targets[c], state)
            _calm(step, np.flatnonzero(self.active[c]), self.rngs[c], slope)

    def scores(self, marks: np.ndarray) -> np.ndarray:
        return self.all_scores[:, marks]

    def found(self) -> np.ndarray:
        return self.alphas


def _gram_step(gram: np.ndarray, targets: np.ndarray, state: tuple, order: np.ndarray) -> float:
    return kernels.gram_pass(gram, targets, order, *state)


class _SparseDescent(_Descent):
    """On sparse rows: a step changes the weights of its class, the last of which is the bias.

    A variable whose slope exceeds what the weights have moved since (times its row's length) need not be
    looked at, nor a class whose weights have not moved. Looks and the first pass go through the rows a block
    at a time; the others need the active ones at hand. Passes hold weights in the precision of the rows; then
    they are added up anew in float64.
    """

    def __init__(self, rows: Rows, *problem: Any, n_jobs: int | None) -> None:
        super().__init__(*problem)
        self.rows, self.n_jobs, self.squares = rows, n_jobs, rows.squares + 1
        k = len(self.classes)
        self.weights, self.losses, self.squared_norms = (
            np.zeros((k, rows.shape[1] + 1)),
            np.zeros(k),
            np.zeros(k),
        )
        self.moved = np.ones(k)  # since the last look; before the first, anything
        self.margins = np.tile(np.where(self.train, -np.inf, np.inf).astype(np.float32), (k, 1))

    def look(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        if not self.alphas.any():
            self._sweep(ridge)
        moved = np.flatnonzero(self.moved)
        for c in moved:
            self.margins[c] -= self.moved[c] * np.sqrt(self.squares)
        self.moved[moved] = self.losses[moved] = 0
        for block in self.rows.blocks() if len(moved) else ():
            self.losses[moved] += self._for(moved, self._look, block)
        return self.losses, self.squared_norms

    def _look(self, c: int, block: Block) -> float:
        state = (self.weights[c], self.alphas[c], self.active[c], self.margins[c])
        return kernels.look(*block, self.targets[c], *state)

    def _sweep(self, ridge: float) -> None:
        """A first pass."""
        rough = self.weights.astype(self.rows.dtype)
        for block in self.rows.blocks():
            order = self.rng.permutation(block.among(self.train))
            self._for(range(len(self.classes)), self._first_pass, block, order, ridge, rough)
        self.squared_norms = np.einsum("ij,ij->i", self.weights, self.weights)

    def _first_pass(self, c: int, block: Block, order: np.ndarray, ridge: float, rough: np.ndarray) -> None:
        given = (*block, self.targets[c])
        kernels.sparse_pass(*given, order, self.squares, ridge, self.alphas[c], rough[c])
        kernels.combine(*given, self.alphas[c], self.weights[c])

    def settle(self, restless: np.ndarray, ridge: float, slope: float) -> None:
        for lines, numbers, block in self.rows.gather(self.active[restless]):
            self._for(restless[lines], self._settle, block, numbers, ridge, slope)

    def _settle(self, c: int, block: Block, numbers: slice | np.ndarray, ridge: float, slope: float) -> None:
        targets, squares, alphas = self.targets[c][numbers], self.squares[numbers], self.alphas[c][numbers]
        rough, weights = self.weights[c].astype(self.rows.dtype), np.zeros_like(self.weights[c])

        def step(order: np.ndarray) -> float:
            return kernels.sparse_pass(*block, targets, order, squares, ridge, alphas, rough)

        _calm(step, np.flatnonzero(self.active[c][numbers]), self.rngs[c], slope)
        kernels.combine(*block, targets, alphas, weights)
        self.moved[c], self.squared_norms[c] = np.linalg.norm(weights - self.weights[c]), weights @ weights
        self.alphas[c][numbers], self.weights[c] = alphas, weights

    def _for(self, classes: Iterable[int], do: Callable[..., Any], *given: Any) -> list[Any]:
        return Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(do)(c, *given) for c in classes)

    def scores(self, marks: np.ndarray) -> np.ndarray:
        found = [
            np.array(self._for(range(len(self.classes)), self._scores, block, marks))
            for block in self.rows.blocks()
        ]
        return np.concatenate(found, axis=1)

    def _scores(self, c: int, block: Block, marks: np.ndarray) -> np.ndarray:
        return kernels.scores(*block, block.among(marks), self.weights[c])

    def found(self) -> np.ndarray:
        return self.weights


def _gram(rows: Rows, n_jobs: int | None) -> np.ndarray:
    """X Xᵀ + 1 in the precision of X: by dense blocks of columns that many rows have, of others by entries.

    Two blocks of rows are at hand at a time. Threads share out stripes of their products, so that there is
    one matrix whatever their number.
    """
    n_rows, counts = rows.shape[0], np.zeros(rows.shape[1], np.int64)
    for block in rows.blocks():
        _count_columns(block, counts)
    gram, heavy = np.ones((n_rows, n_rows), rows.dtype), counts >= _HEAVY * n_rows
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for left in rows.blocks():
            for right in chain([left], rows.blocks(left.stop)):
                out = gram[left.first : left.stop, right.first : right.stop]
                _add_products(left, right, heavy, out, parallel)
                del right  # makes room for the next
            del left
        parallel(delayed(_mirror)(stripe, gram) for stripe in _stripes(n_rows))
    return gram


def _count_columns(block: Block, counts: np.ndarray) -> None:
    """Add in how many rows of a block each column is."""
    own = block.indices[block.indptr[0] : block.indptr[-1]]
    for start in range(0, len(own), _BLOCK_ENTRIES):  # some at a time, for they are widened
        counts += np.bincount(own[start : start + _BLOCK_ENTRIES], minlength=len(counts))


def _add_products(left: Block, right: Block, heavy: np.ndarray, out: np.ndarray, parallel: Parallel) -> None:
    """Add the products of the rows of two blocks; of a block with itself, the upper triangle at least."""

    def for_stripes(do: Callable[..., None], n_rows: int, *given: Any) -> None:
        parallel(delayed(do)(stripe, *given) for stripe in _stripes(n_rows))

    same = left.first == right.first
    for columns in _cut(heavy, max(256, _BLOCK_ENTRIES // max(out.shape))):
        wanted = heavy[columns.start : columns.stop]
        dense = []
        for block in (left,) if same else (left, right):
            dense.append(np.zeros((len(block.indptr) - 1, wanted.sum()), out.dtype))
            for_stripes(_fill, len(dense[-1]), block, columns, wanted, dense[-1])
        for_stripes(_add_dense, len(out), dense[0], dense[-1], same, out)
    counts = np.zeros(len(heavy), np.int64)
    _count_columns(right, counts)
    for columns in _cut(np.where(heavy, 0, counts), _BLOCK_ENTRIES):
        span = (columns.start, columns.stop, heavy)
        lists = kernels.column_lists(right.indptr, right.indices, right.data, *span)
        for_stripes(_add_sparse, len(out), left, span, lists, same, out)


def _stripes(n_rows: int) -> list[slice]:
    height = max(32, -(-n_rows // _STRIPES))
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _add_dense(stripe: slice, left: np.ndarray, right: np.ndarray, same: bool, out: np.ndarray) -> None:
    start = stripe.start if same else 0
    out[stripe, start:] += left[stripe] @ right[start:].T


def _add_sparse(stripe: slice, left: Block, span: tuple, lists: tuple, same: bool, out: np.ndarray) -> None:
    given = (left.indptr, left.indices, left.data, *span, *lists)
    kernels.add_sparse_gram(*given, stripe.start, stripe.stop, same, out)


def _mirror(stripe: slice, gram: np.ndarray) -> None:
    """The lower triangle, from the upper."""
    gram[stripe.stop :, stripe] = gram[stripe, stripe.stop :].T
    corner = gram[stripe, stripe]
    gram[stripe, stripe] = np.triu(corner) + np.triu(corner, 1).T


def _cut(sizes: np.ndarray, most: int) -> list[range]:
    """Columns in ranges whose sizes add up to no more than that, unless one alone does; none of size zero.

    >>> _cut(np.array([2, 2, 0, 5, 0, 1, 1]), 4)
    [range(0, 3), range(3, 4), range(4, 7)]
    """
    ends, cuts = np.cumsum(sizes), [0]
    while cuts[-1] < len(sizes):
        start = cuts[-1]
        before = ends[start - 1] if start else 0
        cuts.append(max(start + 1, int(np.searchsorted(ends, before + most, side="right"))))
    return [range(start, stop) for start, stop in pairwise(cuts) if sizes[start:stop].any()]


def _transposed_product(rows: Rows, duals: np.ndarray) -> np.ndarray:
    """Xᵀ dualsᵀ in the precision of X, by dense blocks."""
    duals, all_of = duals.T.astype(rows.dtype), np.ones(rows.shape[1], np.bool_)
    out = np.zeros((rows.shape[1], duals.shape[1]), rows.dtype)
    for block in rows.blocks():
        n_rows = len(block.indptr) - 1
        for columns in _cut(all_of, max(256, _BLOCK_ENTRIES // n_rows)):
            dense = np.zeros((n_rows, len(columns)), rows.dtype)
            _fill(slice(0, n_rows), block, columns, all_of[: len(columns)], dense)
            out[columns.start : columns.stop] += dense.T @ duals[block.first : block.stop]
    return out


def _fill(stripe: slice, block: Block, columns: range, wanted: np.ndarray, dense: np.ndarray) -> None:
    """Put the wanted ones of some columns, whose indices are sorted, into some rows of a dense block."""
    places = np.where(wanted, np.cumsum(wanted) - 1, -1)
    indptr = block.indptr[stripe.start : stripe.stop + 1]
    kernels.dense_columns(indptr, block.indices, block.data, columns.start, places, dense[stripe])
