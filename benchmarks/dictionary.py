"""L1BallDictionary against SPAMS trainDL, mode 0, 500 iterations, one thread; the objectives of both."""

import numpy as np
import spams

from benchmarks.data import descriptors, of_class, task
from benchmarks.measure import Row, race, spell
from ddlcn import L1BallDictionary
from ddlcn.layers.dictionary import l1_ball_codes

RADIUS = 0.35


def rows(quick: bool) -> list[Row]:
    """Sums of seconds and of objectives over classes."""
    faces, digits = task("yaleb")[0], task("mnist")[0]
    people = [descriptors(of_class(faces, c, 15)) for c in range(2 if quick else 10)]
    figures = [descriptors(of_class(digits, c, 500)) for c in range(1 if quick else 4)]
    return [
        *_compare("q = 15, Extended Yale B", people, 15, "≥ 4 ×", 1 if quick else 3),
        *_compare("q = 500, MNIST", figures, 500, "≥ 2 ×", 0 if quick else 1),
    ]


def _compare(what: str, classes: list[np.ndarray], q: int, target: str, repeats: int) -> list[Row]:
    seconds, objectives = np.zeros(2), np.zeros(2)
    L1BallDictionary(q, max_passes=2, random_state=0).fit(classes[0])  # compiles
    for Y in classes:
        learners = (lambda Y=Y: _ours(Y, q)), (lambda Y=Y: _theirs(Y, q))
        seconds += race(*learners, repeats=repeats)
        objectives += [_objective(Y, learner()) for learner in learners]
    ours, theirs = objectives / len(classes)
    what = f"dictionary, {what}, {len(classes)} classes of {len(classes[0]):,} descriptors / SPAMS"
    return [
        Row(what, *map(spell, seconds / len(classes)), seconds[1] / seconds[0], target),
        Row(f"{what}: objective", f"{ours:.5f}", f"{theirs:.5f}", 100 * (ours / theirs - 1), "≤ 0.1 %"),
    ]


def _ours(Y: np.ndarray, q: int) -> np.ndarray:
    return L1BallDictionary(q, RADIUS, random_state=0).fit(Y).components_


def _theirs(Y: np.ndarray, q: int) -> np.ndarray:
    """Double precision, which is the faster of its two."""
    columns = np.asfortranarray(Y.T, dtype=np.float64)
    return spams.trainDL(columns, K=q, lambda1=RADIUS, mode=0, iter=500, numThreads=1, verbose=False).T


def _objective(Y: np.ndarray, atoms: np.ndarray) -> float:
    """Mean of ½‖y − Dα‖² with exact codes of all samples, the same for both dictionaries."""
    codes = l1_ball_codes(Y, atoms, RADIUS)
    return float(((Y - codes @ atoms) ** 2).sum() / 2 / len(Y))
