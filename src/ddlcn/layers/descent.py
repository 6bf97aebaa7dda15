"""Dual coordinate descent for one-vs-rest squared-hinge SVMs (the problem is in `svm`).

Few images: on their Gram matrix. Many: on their sparse rows. Either way a class at a time, in rounds: passes
over its variables that may move, until they are calm, then a look at all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array

from ddlcn.cluster import active_client
from ddlcn.kernels import svm as kernels
from ddlcn.layers.gram import gram_matrix, transposed_product
from ddlcn.layers.growing import IN_REACH, forget, is_mapped
from ddlcn.layers.rows import Block, MemoryRows, Rows
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.store import Shared, Store

_LARGEST_GRAM = 10_000  # images; 400 MB
_FEW = 4  # images for each entry in the row of one: up to here the Gram matrix was the faster way
_CLASSES_AT_ONCE = 16  # that sparse rows are gone through for
_MOST_WEIGHTS = 1 << 22  # of these, if no store has the rows: 32 MB
_CALMER = 0.1  # a round ends when the worst slope has shrunk to this part
_MOST_PASSES, _MOST_ROUNDS = 100, 1000


class Folds(ABC):
    """Classes of rows, of which folds can be held out.

    `codes` are 0, 1, …; of two classes only class 1 is solved for.
    """

    def __init__(self, codes: np.ndarray, tol: float, seed: int | None, n_jobs: int | None) -> None:
        self.codes, self.tol, self.seed, self.n_jobs = codes, tol, seed, n_jobs
        n_classes = codes.max() + 1
        self.classes = np.arange(n_classes) if n_classes > 2 else np.array([1])

    def held_out_scores(
        self, candidates: tuple[float, ...], folds: np.ndarray, asked: np.ndarray
    ) -> list[np.ndarray]:
        """For each C, scores of the rows that `asked` marks, each by a model trained without its fold.

        Rows of fold −1 are never held out.
        """
        found = [np.zeros((asked.sum(), len(self.classes))) for _ in candidates]
        for fold in range(folds.max() + 1):
            paths = self._for_parts(hold_out, folds, fold, asked, candidates)
            for scores, of_parts in zip(found, zip(*paths, strict=True), strict=True):
                scores[folds[asked] == fold] = np.concatenate(of_parts).T
        return found

    @abstractmethod
    def descent(self, classes: np.ndarray, train: np.ndarray) -> _Descent:
        """Some classes, to be trained on the rows that `train` marks."""

    @abstractmethod
    def _for_parts(self, do: Callable[..., Any], *settings: Any) -> list[Any]:
        """Do something for the classes in parts of a size that no answer depends on."""

    def _by_threads(
        self, do: Callable[..., Any], at_once: int, n_jobs: int | None, *settings: Any
    ) -> list[Any]:
        parts = np.array_split(self.classes, -(-len(self.classes) // at_once))
        return Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(do)(self, part, *settings) for part in parts
        )


class GramFolds(Folds):
    """Rows of which the Gram matrix, with 1 added, is all that is known."""

    def __init__(self, gram: np.ndarray, *problem: Any) -> None:
        super().__init__(*problem)
        self.gram = gram

    def descent(self, classes: np.ndarray, train: np.ndarray) -> _Descent:
        """Some classes, to be trained on the rows that `train` marks."""
        return _GramDescent(self.gram, self.codes, classes, train, self.seed)

    def _for_parts(self, do: Callable[..., Any], *settings: Any) -> list[Any]:
        return self._by_threads(do, 1, self.n_jobs, *settings)


class Problem(Folds):
    """Rows and their classes, solved by dual coordinate descent on the Gram matrix or on the sparse rows.

    Rows of a store are solved by units of it.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, solver: str, tol: float, seed: int | None, n_jobs: int | None
    ) -> None:
        super().__init__(codes, tol, seed, n_jobs)
        self.rows: Rows = X if isinstance(X, MemoryRows | StoredRows) else MemoryRows(csr_array(X))
        self.solver = solver
        few = X.shape[0] <= min(_LARGEST_GRAM, _FEW * self.rows.n_entries / X.shape[0])
        self.by_gram = solver == "gram" or (solver == "auto" and few)
        self._gram: np.ndarray | None = None
        self._lock = Lock()

    def solve(self, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (k, d), biases and relative duality gaps on all rows."""
        parts = self._for_parts(solve_classes, C)
        found, biases, gaps = map(np.concatenate, zip(*parts, strict=True))
        del parts  # makes room, as below
        if self.by_gram:
            self._gram = None
            found = transposed_product(self.rows, found, self.n_jobs).T
        # column by column, as products with sparse rows read it
        return np.asfortranarray(found), biases, gaps

    def _for_parts(self, do: Callable[..., Any], *settings: Any) -> list[Any]:
        k, rows = len(self.classes), self.rows
        n_jobs = self.n_jobs if self.by_gram or rows.are_few else 1  # a block a thread would be too much
        if not isinstance(rows, StoredRows):
            at_once = min(_CLASSES_AT_ONCE, max(1, _MOST_WEIGHTS // rows.shape[1]))
            return self._by_threads(do, 1 if self.by_gram else at_once, n_jobs, *settings)
        at_once = _CLASSES_AT_ONCE
        if self.by_gram or active_client() is not None:  # then classes share nothing but what is read
            at_once = min(at_once, -(-k // 16))
        given = (rows.names, rows.shape, rows.store.keep(self.codes), self.solver, self.tol, self.seed)
        shared = Shared(_stored_problem, rows.store, *given, made=self)
        calls = [(shared, part, *settings) for part in np.array_split(self.classes, -(-k // at_once))]
        return [rows.store.read(name) for name in rows.store.finish("svm", do, calls, n_jobs)]

    def descent(self, classes: np.ndarray, train: np.ndarray) -> _Descent:
        """Some classes, to be trained on the rows that `train` marks."""
        given = (self.codes, classes, train, self.seed)
        if not self.by_gram:
            return _SparseDescent(self.rows, *given, n_jobs=self.n_jobs)
        with self._lock:  # made once, by whoever needs it first
            if self._gram is None:
                self._gram = gram_matrix([self.rows], self.n_jobs)
        return _GramDescent(self._gram, *given)


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


def solve_classes(problem: Problem, classes: np.ndarray, C: float) -> tuple[np.ndarray, ...]:
    """What a descent found for some classes, a line each, their biases, and the gaps."""
    descent = problem.descent(classes, np.ones(len(problem.codes), np.bool_))
    gaps = descent.descend(C, problem.tol)
    return *descent.found(), gaps


def hold_out(
    problem: Folds,
    classes: np.ndarray,
    folds: np.ndarray,
    fold: int,
    asked: np.ndarray,
    candidates: tuple[float, ...],
) -> tuple[np.ndarray, ...]:
    """For each C, scores (k, n) of the asked rows of a fold by the others; each goes on from the last."""
    descent, found = problem.descent(classes, folds != fold), []
    for C in candidates:
        descent.descend(C, max(problem.tol, 1e-3))
        found.append(descent.scores(asked & (folds == fold)))
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
    def found(self) -> tuple[np.ndarray, np.ndarray]:
        """What `Problem.solve` makes weights of, a line for each class; and the biases."""


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

    def found(self) -> tuple[np.ndarray, np.ndarray]:
        duals = self.targets * self.alphas
        return duals, duals.sum(axis=1)


def _gram_step(gram: np.ndarray, targets: np.ndarray, state: tuple, order: np.ndarray) -> float:
    if not is_mapped(gram):
        return kernels.gram_pass(gram, targets, order, *state)
    worst, rest = 0.0, gram[len(gram) // 3 :]  # a third of it stays: to map a line takes as long as the step
    for start in range(0, len(order), IN_REACH):
        worst = max(worst, kernels.gram_pass(gram, targets, order[start : start + IN_REACH], *state))
        forget(rest)
    return worst


class _SparseDescent(_Descent):
    """On sparse rows: a step changes the weights of its class, the last of which is the bias.

    A variable whose slope exceeds what the weights have moved since (times its row's length) need not be
    looked at, nor a class whose weights have not moved. Looks and the first pass go through the rows a block
    at a time; the others need the active ones at hand, or in a file. Passes hold weights in the precision of
    the rows; then they are added up anew in float64.
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
        state, losses = (self.weights[c], self.alphas[c], self.active[c], self.margins[c]), 0.0
        for piece in self.rows.pieces(block):
            losses = kernels.look(*piece, self.targets[c], *state, losses)
        return losses

    def _sweep(self, ridge: float) -> None:
        """A first pass."""
        rough = self.weights.astype(self.rows.dtype)
        for block in self.rows.blocks():
            order = self.rng.permutation(block.among(self.train))
            self._for(range(len(self.classes)), self._first_pass, block, order, ridge, rough)
        self.squared_norms = np.einsum("ij,ij->i", self.weights, self.weights)

    def _first_pass(self, c: int, block: Block, order: np.ndarray, ridge: float, rough: np.ndarray) -> None:
        self._pass(block, self.targets[c], order, self.squares, ridge, self.alphas[c], rough[c])
        self._combine(block, self.targets[c], self.alphas[c], self.weights[c])

    def _pass(self, block: Block, targets: np.ndarray, order: np.ndarray, *state: Any) -> float:
        reached = self.rows.in_reach(order)
        return max((kernels.sparse_pass(*block, targets, some, *state) for some in reached), default=0.0)

    def _combine(self, block: Block, *state: np.ndarray) -> None:
        for piece in self.rows.pieces(block):
            kernels.combine(*piece, *state)

    def settle(self, restless: np.ndarray, ridge: float, slope: float) -> None:
        for lines, numbers, block in self.rows.gather(self.active[restless]):
            self._for(restless[lines], self._settle, block, numbers, ridge, slope)
            del block  # makes room for the next

    def _settle(self, c: int, block: Block, numbers: slice | np.ndarray, ridge: float, slope: float) -> None:
        targets, squares, alphas = self.targets[c][numbers], self.squares[numbers], self.alphas[c][numbers]
        rough, weights = self.weights[c].astype(self.rows.dtype), np.zeros_like(self.weights[c])

        def step(order: np.ndarray) -> float:
            return self._pass(block, targets, order, squares, ridge, alphas, rough)

        _calm(step, np.flatnonzero(self.active[c][numbers]), self.rngs[c], slope)
        self._combine(block, targets, alphas, weights)
        change = np.subtract(weights, self.weights[c], out=self.weights[c])
        self.moved[c], self.squared_norms[c] = np.linalg.norm(change), weights @ weights
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
        pieces = self.rows.pieces(block)
        return np.concatenate([kernels.scores(*each, each.among(marks), self.weights[c]) for each in pieces])

    def found(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weights[:, :-1].astype(self.rows.dtype), self.weights[:, -1].copy()
