"""Held-out rows: what C and the calibration of an SVM are chosen by.

Folds are drawn over originals. Augmented copies train where their original does, and are never held out. A class
with one image always trains.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ddlcn.blas import one_blas_thread
from ddlcn.linear.calibration import Calibration, calibrate, score_per_class
from ddlcn.linear.dual import Problem, Task
from ddlcn.linear.gram import solve

TOLERANCE = 1e-3  # relative duality gap at which held-out scores are precise enough
MOST_HELD_OUT = 1000
FEWEST = 4  # held-out rows that may decide: gains of fewer exceed their standard error by chance
_MANY_ROWS, _SAMPLE = 10_000, 5000  # of more rows than that, so many originals are used


class HeldOut(NamedTuple):
    """Scores of rows by SVMs that were trained without them and their augmented copies."""

    rows: np.ndarray  # their numbers
    scores: np.ndarray  # (n_rows, n_classes)


def folds(y: np.ndarray, seed: int, n_folds: int = 3) -> np.ndarray:
    """Fold of each row, classes in proportion.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels.
    seed : int
    n_folds : int
        At most; no more than the largest class has rows.

    Returns
    -------
    array of int
        −1 for rows that always train: the only row of a class.

    Examples
    --------
    >>> folds(np.array([0, 0, 1]), 0)
    array([ 1,  0, -1])
    """
    found = np.full(len(y), -1)
    _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
    several, n_folds = np.flatnonzero(counts[y] > 1), min(n_folds, counts.max(initial=0))
    if n_folds > 1:
        split = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(several, y[several])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            for fold, (_, held_out) in enumerate(split):
                found[several[held_out]] = fold
    return found


def draw(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Numbers of n rows, ascending: of each class about the same share, and one at least if n allows that."""
    order = np.random.RandomState(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    counts = np.bincount(y)
    rank = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[np.argsort(rank / np.repeat(counts, counts), kind="stable")[:n]])


def rows_to_use(y: np.ndarray, groups: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
    """Numbers of the rows that take part in validation: all, or of very many 5,000 originals."""
    rows = np.arange(len(y))
    if len(y) <= _MANY_ROWS:
        return rows
    originals = rows[(groups == rows) & (weights > 0)]
    return originals[draw(y[originals], _SAMPLE, seed)]


def split(
    y: np.ndarray, groups: np.ndarray, weights: np.ndarray, seed: int, unseen: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fold of each row, −1 if it always trains; and the numbers of the rows to be held out, 1,000 at most.

    Only `unseen` rows are held out, those that the features were learnt without; but any row if a class has none.
    """
    originals = np.flatnonzero((groups == np.arange(len(y))) & (weights > 0))
    own = folds(y[originals], seed)
    several, targets = own >= 0, y[originals]
    allowed = several if unseen is None else several & unseen[originals]
    candidates = np.flatnonzero(allowed if np.isin(targets[several], targets[allowed]).all() else several)
    chosen = candidates[draw(y[originals][candidates], MOST_HELD_OUT, seed)]
    found, held_out = np.full(len(y), -1), originals[chosen]
    found[held_out] = own[chosen]
    return found[groups], held_out


def held_out_scores(
    problem: Problem, fold_of: np.ndarray, held_out: np.ndarray, grid: Sequence[float], tol: float
) -> np.ndarray:
    """Scores of the held-out rows, each by an SVM that was trained without its fold.

    Parameters
    ----------
    problem : Problem
    fold_of, held_out : arrays of int
        What `split` returns.
    grid : sequence of float
        Values of C, in rising order.
    tol : float
        Relative duality gap.

    Returns
    -------
    array of shape (number of values of C, number of held-out rows, n_classes)
    """

    def scores(signs: np.ndarray, fold: int) -> list[np.ndarray]:
        own = held_out[fold_of[held_out] == fold]
        train = np.where(fold_of == fold, 0.0, problem.weights)
        task = Task(signs, train, grid, own, tol, problem.seed)
        return [solution.scores for solution in problem.solver(task)]

    signs, n_folds = problem.signs, fold_of.max() + 1
    found = problem.map(scores, ((own, fold) for fold in range(n_folds) for own in signs))
    out = np.empty((len(grid), len(held_out), len(signs)))
    for place, own in enumerate(found):
        fold, column = divmod(place, len(signs))
        out[:, fold_of[held_out] == fold, column] = own
    return np.array([score_per_class(own) for own in out])


def calibrated(problem: Problem, held_out: np.ndarray, scores: np.ndarray) -> Calibration:
    """The calibration by scores of held-out rows; a class counts as much as all its training rows, by their weights."""
    y, weights, n = problem.y[held_out], problem.weights[held_out], problem.n_classes
    every, some = np.bincount(problem.y, problem.weights, n), np.bincount(y, weights, n)
    weights = weights * every[y] / some[y]
    sizes = np.bincount(problem.y[problem.weights > 0], minlength=n)
    return calibrate(scores, y, sizes, weights / weights.mean())


def held_out_log_likelihood(
    gram: np.ndarray,
    y: np.ndarray,
    C: float,
    seed: int,
    groups: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    unseen: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Log-likelihoods of held-out originals, calibrated, by SVMs trained without their fold.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows)
        X Xᵀ.
    y : array of shape (n_rows,)
        Labels.
    C : float
    seed : int
        Draws the folds: the same for the same labels of originals.
    groups : array of int, optional
        For each row, the number of the row that it is an augmented copy of; its own number for originals.
    sample_weight : array of shape (n_rows,), optional
        Rows of weight 0 neither train nor are held out.
    unseen : array of bool, optional
        Rows that the features were learnt without. Only these are held out, if each class has some.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    array of float
        One for each held-out original, times its weight, in the order of rows; empty if nothing can be held out.
    """
    classes, y = np.unique(y, return_inverse=True)
    groups = np.arange(len(y)) if groups is None else groups
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    fold_of, held_out = split(y, groups, weights, seed, unseen)
    if not len(held_out) or len(classes) < 2:
        return np.empty(0)
    with one_blas_thread():
        problem = Problem(partial(solve, gram), y, len(classes), weights, seed, n_jobs)
        [scores] = held_out_scores(problem, fold_of, held_out, (C,), TOLERANCE)
        return calibrated(problem, held_out, scores).log_likelihood
