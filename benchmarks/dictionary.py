"""L1BallDictionary against SPAMS trainDL, mode 0, 500 iterations, one thread; the objectives of both."""

import numpy as np
import spams

from benchmarks.data import descriptors, of_class, task
from benchmarks.measure import Row, race, spell
from ddlcn import L1BallDictionary
from ddlcn.layers.dictionary import l1_ball_codes

RADIUS = 0.35
SEEDS = 6  # of ours; SPAMS always draws the same start


def rows(quick: bool) -> list[Row]:
    """Means over classes; time with the first seed."""
    faces, digits = task("yaleb")[0], task("mnist")[0]
    people = [descriptors(of_class(faces, c, 15)) for c in range(2 if quick else 10)]
    figures = [descriptors(of_class(digits, c, 500)) for c in range(1 if quick else 4)]
    return [
        *_compare("q = 15, Extended Yale B", people, 15, "≥ 4 ×", 1 if quick else 3),
        *_compare("q = 500, MNIST", figures, 500, "≥ 2 ×", 0 if quick else 1),
    ]


def _compare(what: str, classes: list[np.ndarray], q: int, target: str, repeats: int) -> list[Row]:
    seconds, ours, theirs = np.zeros(2), np.zeros(SEEDS), 0.0
    L1BallDictionary(q, max_passes=2, random_state=0).fit(classes[0])  # compiles
    for Y in classes:
        seconds += race(lambda Y=Y: _ours(Y, q), lambda Y=Y: _theirs(Y, q), repeats=repeats)
        ours += [_objective(Y, _ours(Y, q, seed)) for seed in range(SEEDS)]
        theirs += _objective(Y, _theirs(Y, q))
    worse = 100 * (ours / theirs - 1)
    what = f"dictionary, {what}, {len(classes)} classes of {len(classes[0]):,} descriptors / SPAMS"
    spread = f"objective, mean of {SEEDS} seeds ({worse.min():.3f} to {worse.max():.3f} %)"
    objectives = (f"{each / len(classes):.5f}" for each in (ours.mean(), theirs))
    return [
        Row(what, *map(spell, seconds / len(classes)), seconds[1] / seconds[0], target),
        Row(f"{what}: {spread}", *objectives, float(worse.mean()), "≤ 0.1 %"),
    ]


def _ours(Y: np.ndarray, q: int, seed: int = 0) -> np.ndarray:
    return L1BallDictionary(q, RADIUS, random_state=seed).fit(Y).components_


def _theirs(Y: np.ndarray, q: int) -> np.ndarray:
    """Double precision, which is the faster of its two."""
    columns = np.asfortranarray(Y.T, dtype=np.float64)
    return spams.trainDL(columns, K=q, lambda1=RADIUS, mode=0, iter=500, numThreads=1, verbose=False).T


def _objective(Y: np.ndarray, atoms: np.ndarray) -> float:
    """Mean of ½‖y − Dα‖² with exact codes of all samples, the same for both dictionaries."""
    codes = l1_ball_codes(Y, atoms, RADIUS)
    return float(((Y - codes @ atoms) ** 2).sum() / 2 / len(Y))
