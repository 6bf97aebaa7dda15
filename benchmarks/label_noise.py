"""Which share of wrong labels is found? A twentieth of the training labels are flipped, then the data are checked.

    python -m benchmarks.label_noise                     # all tasks, seed 0
    python -m benchmarks.label_noise flowers17 --seeds 3
    python -m benchmarks.label_noise flowers17 --classes 6 --t 10

Of k flipped labels, the table has the share that is among the k images with the highest `mislabelled_score`, and the
share of those of `is_mislabelled` that are flipped. cleanlab ranks the same held-out probabilities by each of its label
quality scores. It is under the AGPL: a peer of this benchmark, never imported by the package, and left out with a note
unless it is installed in the environment of the benchmark.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter

import numpy as np

from benchmarks import data
from ddlcn import DDLCNClassifier
from ddlcn.checks import find_duplicates, held_out_predictions, image_facts, is_mislabelled, mislabelled_score
from ddlcn.images import ImageSet, value_range
from ddlcn_lab.datasets import load_dataset

TASKS = {"yaleb": (15, 95), "mnist": (100, 90), "flowers17": (20, 50)}  # images per class, target in %
FLIPPED = 0.05
METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")  # of cleanlab


def main() -> None:
    """Print a line per data set and seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_noise", description=__doc__.split("\n")[0])
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="task", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--t", type=int, help="images per class")
    parser.add_argument("--classes", type=int, help="the first classes only")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--backbone")
    given = parser.parse_args()
    peers = cleanlab_scores()
    if peers is None:
        print("cleanlab is not installed here: its columns are left out (pip install cleanlab)")
    columns = ["of k", "of flagged", "flagged", *(f"cleanlab {name}" for name in (METHODS if peers else ()))]
    print(f"{'data':10} {'t':>4} seed {'k':>4} held-out {' '.join(columns)}  target  seconds")
    for name in given.tasks:
        t, target = TASKS[name]
        for seed in range(given.seeds):
            run(name, given.t or t, target, seed, given.classes, given.folds, given.backbone, peers)


def run(name, t, target, seed, n_classes, n_folds, backbone, peers):
    """Flip labels of one draw of images, and print what is found."""
    images = draw(load_dataset(name, os.environ["DDLCN_DATA"]), t, seed, n_classes)
    y, flipped = flip(images.target, np.random.default_rng([seed, 1]))
    start, model = perf_counter(), DDLCNClassifier(backbone=backbone, augmentation="none", random_state=seed, n_jobs=-1)
    group = find_duplicates(image_facts(images.images, value_range(images.images), -1)).group
    probabilities = held_out_predictions(model, images.images, y, group, n_folds).probabilities
    seconds, found = perf_counter() - start, is_mislabelled(probabilities, y)
    judged = np.flatnonzero(~np.isnan(probabilities).any(axis=1))
    shares = [first(mislabelled_score(probabilities, y), flipped), flipped[found].mean() if found.any() else np.nan]
    others = [
        first(fill(peers(y[judged], probabilities[judged], m), judged, len(y)), flipped) for m in METHODS if peers
    ]
    accuracy = (probabilities.argmax(axis=1) == images.target).mean()
    cells = [f"{shares[0]:4.0%}", f"{shares[1]:10.0%}", f"{found.sum():7}"]
    cells += [f"{share:{9 + len(m)}.0%}" for share, m in zip(others, METHODS, strict=False)]
    row = f"{name:10} {t:4} {seed:4} {flipped.sum():4} {accuracy:8.1%} {' '.join(cells)}  {target:4} %  {seconds:7.0f}"
    print(row, flush=True)


def draw(images: ImageSet, t: int, seed: int, n_classes: int | None) -> ImageSet:
    """So many images of each class, or of the first classes."""
    rng, rows = np.random.default_rng(seed), []
    for c in range(n_classes or len(images.target_names)):
        rows.extend(rng.permutation(np.flatnonzero(images.target == c))[:t])
    found = images.take(np.array(rows))
    return ImageSet.of(found.images, found.labels, images.source)


def flip(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a twentieth are another class, and which."""
    flipped, noisy = np.zeros(len(y), bool), y.copy()
    flipped[rng.permutation(len(y))[: round(FLIPPED * len(y))]] = True
    noisy[flipped] = (y[flipped] + rng.integers(1, y.max() + 1, flipped.sum())) % (y.max() + 1)
    return noisy, flipped


def first(score: np.ndarray, flipped: np.ndarray) -> float:
    """Share of the k highest scores that are flipped, of k flipped labels; images that were not judged come last."""
    order = np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")
    return float(flipped[order[: flipped.sum()]].mean())


def fill(values: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Values at their rows, NaN elsewhere."""
    found = np.full(n, np.nan)
    found[rows] = values
    return found


def cleanlab_scores():
    """cleanlab's label quality scores, turned so that high is suspicious; None if it is not installed."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ModuleNotFoundError:
        return None
    return lambda y, probabilities, method: 1 - get_label_quality_scores(y, probabilities, method=method)


if __name__ == "__main__":
    assert data  # sets $DDLCN_DATA
    main()
