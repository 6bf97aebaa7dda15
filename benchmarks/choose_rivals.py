"""python -m benchmarks.choose_rivals [--data DIR] [name ...]

Settings of rivals that their papers leave open, chosen without any test image: mean accuracy over three
folds of the training half of split 0 of Extended Yale B. Prints one line for each setting of each grid, as
docs/methods.md has them, and the choice: the best, or, where a setting is to be preferred, that one if it is
within one standard error of the best. The defaults of `ddlcn_lab.methods` are what was chosen.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from ddlcn_lab.datasets import load_dataset
from ddlcn_lab.methods.registry import get_method
from ddlcn_lab.protocols import draw_split

# for each rival: p, q, held-out images used (every n-th), and its grid, one group of parameters at a time
_PASSES = [{"first_passes": [5], "passes": [10]}, {"first_passes": [20], "passes": [50]}]
_WEIGHTS = (1e-6, 1e-4, 1e-2)
GRIDS: dict[str, tuple[int | None, int, int, Any]] = {
    "src": (None, 15, 1, {"coder__penalty": [0.0003, 0.001, 0.003, 0.01, 0.03]}),
    "llc-30": (15, 15, 1, {"coder__epsilon": [1e-4, 1e-5, 1e-3, 1e-2, 1e-1]}),
    "llc-70": (15, 15, 1, {"coder__epsilon": [1e-4, 1e-5, 1e-3, 1e-2, 1e-1]}),
    "k-svd": (None, 15, 1, [{**passes, "ridge": [0.1, 1.0]} for passes in _PASSES]),
    "d-ksvd": (None, 15, 1, {"fidelity": _WEIGHTS}),
    "lc-ksvd1": (15, 15, 1, {"consistency": [4 * weight for weight in _WEIGHTS]}),
    "lc-ksvd2": (15, 15, 1, [{"consistency": [4 * w], "fidelity": [w]} for w in _WEIGHTS]),
    "csdl-src": (
        None,
        15,
        1,
        {"l1_radius": [0.35, 1.0, 3.0], "coder__penalty": [0.0003, 0.001, 0.003, 0.01]},
    ),
    "fddl": (None, 15, 1, {"fisher": [0.005, 0.05], "penalty": [0.001, 0.005], "mean_weight": [0.05, 0.5]}),
    "rrc-l1": (None, 15, 6, {"penalty": [0.00001, 0.0001, 0.001, 0.01]}),
    "addl": (None, 15, 1, {"ridge": [0.003, 0.01, 0.03, 0.1]}),
}

# the first stays if it is as good: more passes of K-SVD take five times as long, and ε = 1e-4 is LLC's own
FIRST_STAYS = {"k-svd", "llc-30", "llc-70"}


def held_out(name: str, images: list[Any], labels: np.ndarray) -> list[tuple[dict[str, Any], float]]:
    """Each setting of a rival's grid, with its accuracy on images that it was not fitted on."""
    p, q, step, grid = GRIDS[name]
    *inputs, (_, classifier) = get_method(name).make(p, q, 0, None).steps
    rows: Any = images
    for _, part in inputs:  # projections and sizes see no labels
        rows = part.fit_transform(rows)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(rows, labels))
    found = []
    for setting in ParameterGrid(grid):
        scores = []
        for train, held in folds:
            model = clone(classifier).set_params(**setting).fit(rows[train], labels[train])
            scores.append(model.score(rows[held][::step], labels[held][::step]))
        found.append((setting, float(np.mean(scores))))
        print(f"| {name} | {_spell(setting)} | {found[-1][1]:.2%} |", flush=True)
    return found


def choose(found: list[tuple[dict[str, Any], float]], n_images: int, first_stays: bool) -> tuple[dict[str, Any], float]:
    """The best setting, or the first that is within one standard error of it."""
    best = max(found, key=lambda each: each[1])
    error = np.sqrt(best[1] * (1 - best[1]) / n_images)
    return next(each for each in found if each[1] >= best[1] - error) if first_stays else best


def _spell(setting: dict[str, Any]) -> str:
    return ", ".join(f"{key.removeprefix('coder__')} = {value:g}" for key, value in setting.items())


def main() -> None:
    """Run the grids of the names given, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose_rivals", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"all by default: {', '.join(GRIDS)}")
    parser.add_argument("--data", type=Path, help="folder of the data sets; $DDLCN_DATA by default")
    asked = parser.parse_args()
    faces = load_dataset("yaleb", asked.data)
    train = draw_split(faces, 0.5, split=0).train  # the other half is never looked at
    images, labels = [faces.images[row] for row in train], faces.target[train]
    for name in asked.names or GRIDS:
        setting, accuracy = choose(held_out(name, images, labels), len(labels), name in FIRST_STAYS)
        print(f"| **{name}** | **{_spell(setting)}** | **{accuracy:.2%}** |", flush=True)


if __name__ == "__main__":
    main()
