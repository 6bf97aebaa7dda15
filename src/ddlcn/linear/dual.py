"""The problem of a linear SVM, and what its two solvers share.

For each class, with signs t_i = ±1, costs C_i, and a bias as an extra feature of value 1,

    min over w, b of  P = ½‖w‖² + ½b² + Σ_i C_i max(0, 1 − t_i f_i)²,   f_i = w·x_i + b
    max over α ≥ 0 of D = Σ_i α_i − ½ Σ_ij t_i t_j α_i α_j (x_i·x_j + 1) − Σ_i α_i² / 4C_i

P − D ≥ 0 is the duality gap: P is at most that far from its minimum. Both solvers ascend on D, one variable at a
time. They repeat rounds: mark the variables that may move (the active set), then run epochs over these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ddlcn.linear.threads import map_threads

MAX_ROUNDS = 1000
WORTH_THREADS = 400  # rows: fewer are solved sooner than threads take over


class Task(NamedTuple):
    """What a solver is to do for one class."""

    signs: np.ndarray  # ±1 for each row
    weights: np.ndarray  # C_i = C · weights_i; rows of weight 0 do not train
    grid: Sequence[float]  # values of C, ascending; each starts from the solution of the one before
    scored: np.ndarray  # numbers of the rows whose scores are wanted
    tol: float  # relative duality gap to stop at
    seed: int  # of the order of rows


class Solution(NamedTuple):
    """What a solver finds for one class and one C."""

    coefficients: np.ndarray  # t_i α_i of each row (Gram solver), or the weight of each feature (sparse solver)
    intercept: float
    gap: float  # (P − D) / P
    scores: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Rows of several classes, solved class by class; solutions do not depend on `n_jobs`."""

    solver: Callable[[Task], Iterator[Solution]]  # of given rows: one solution for each C
    y: np.ndarray  # classes, from 0
    n_classes: int
    weights: np.ndarray
    seed: int
    n_jobs: int | None

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Results of a function for each call, on threads unless there are so few rows that these would cost more."""
        n_jobs = self.n_jobs if len(self.y) >= WORTH_THREADS else 1
        return map_threads(function, calls, n_jobs)

    @property
    def signs(self) -> list[np.ndarray]:
        """±1 by row for each class against the rest; of two classes, for the second only."""
        positive = range(self.n_classes) if self.n_classes > 2 else (1,)
        return [np.where(self.y == c, 1.0, -1.0) for c in positive]

    def solve(self, C: float, tol: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients (one column for each class), intercepts and relative duality gaps."""

        def one(signs: np.ndarray) -> Solution:
            return next(self.solver(Task(signs, self.weights, (C,), np.zeros(0, np.intp), tol, self.seed)))

        found = self.map(one, ((own,) for own in self.signs))
        coefficients, intercepts, gaps, _ = zip(*found, strict=True)
        return np.stack(coefficients, axis=1), np.array(intercepts), np.array(gaps)


def ridge_of(costs: np.ndarray) -> np.ndarray:
    """1 / 2C_i; zero for rows that do not train."""
    return np.divide(0.5, costs, out=np.zeros(len(costs)), where=costs > 0)
