"""Coverage of prediction sets, and what share of unknown images is rejected.

    python -m ddlcn_lab.unknown --seeds 10 --out docs/results/unknown.jsonl

A run is a data set, a seed and a task. `sets`: t images of each class train, up to 40 others test coverage and false
alarms; images of other kinds are to be rejected. `unseen`: some classes are left out of training, and their images
are to be told from those of the others. Finished runs are in the file and are not repeated. At the end, the tables of
all runs in the file are printed as Markdown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.metrics import roc_auc_score

from ddlcn import DDLCNClassifier
from ddlcn.images import ImageSet, read_colour
from ddlcn_lab.datasets import load_dataset

FALSE_ALARMS, COVERAGE = 0.05, 0.95
N_TEST, N_STRANGE = 40, 50
TASKS = {  # task: {data set: training images per class}
    "sets": {"yaleb": 15, "mnist": 50, "flowers17": 20, "neu_det": 20, "caltech101": 30},
    "unseen": {"yaleb": 15, "flowers17": 20, "caltech101": 30},
}
LEFT_OUT = {"yaleb": 10 / 38, "flowers17": 1 / 4, "caltech101": 1 / 4}  # share of classes
OTHERS = {"yaleb": ("flowers17", "mnist"), "flowers17": ("yaleb", "mnist")}  # images of other kinds


def split(target: np.ndarray, t: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that test.

    >>> train, test = split(np.array([0] * 5 + [1] * 4), 3, 0)
    >>> np.bincount(np.array([0] * 5 + [1] * 4)[train]).tolist(), len(test)
    ([3, 3], 3)
    """
    rng, train, test = np.random.default_rng(seed), [], []
    for label in np.unique(target):
        order = rng.permutation(np.flatnonzero(target == label))
        train.append(order[:t])
        test.append(order[t : t + N_TEST])
    return np.concatenate(train), np.concatenate(test)


def strange_images(known: list[Any], grey: bool, seed: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Images without an object, and known images that are inverted or shuffled, by name."""
    rng, pixels = np.random.default_rng(seed), [read_colour(image) for image in known]
    shapes = [each.shape for each in pixels]
    yield "blank", [np.full(shape, rng.integers(256, size=1 if grey else 3), np.uint8) for shape in shapes]
    yield "noise", [_as_grey(rng.integers(256, size=shape).astype(np.uint8), grey) for shape in shapes]
    yield "blobs", [_as_grey(_blobs(shape, rng), grey) for shape in shapes]
    yield "inverted", [255 - each for each in pixels]
    yield "shuffled patches", [_shuffled(each, rng) for each in pixels]


def _as_grey(image: np.ndarray, grey: bool) -> np.ndarray:
    return np.repeat(image[..., :1], 3, axis=2) if grey else image


def _blobs(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Smooth random colours."""
    planes = np.stack([gaussian_filter(rng.standard_normal(shape[:2]), min(shape[:2]) / 12) for _ in range(3)], axis=2)
    planes -= planes.min()
    return (255 * planes / planes.max()).astype(np.uint8)


def _shuffled(image: np.ndarray, rng: np.random.Generator, n: int = 4) -> np.ndarray:
    """The n × n tiles of an image in random order."""
    height, width = (side // n for side in image.shape[:2])
    tiles = [image[i * height : (i + 1) * height, j * width : (j + 1) * width] for i, j in product(range(n), repeat=2)]
    order = rng.permutation(n * n)
    return np.concatenate(
        [np.concatenate([tiles[order[n * i + j]] for j in range(n)], axis=1) for i in range(n)], axis=0
    )


def trained(data: ImageSet, rows: np.ndarray, seed: int) -> DDLCNClassifier:
    """The default model on some images."""
    part = data.take(rows)
    return DDLCNClassifier(random_state=seed, n_jobs=-1).fit(part.images, part.target)


def measure_sets(name: str, t: int, seed: int) -> dict[str, Any]:
    """Coverage, sizes and shares of empty sets of a model, and what share of strange images it rejects."""
    data = _load(name)
    train, test = split(data.target, t, seed)
    model, tested = trained(data, train, seed), data.take(test)
    assessed = model.assess(tested.images)
    sets, predicted = assessed.sets(COVERAGE), assessed.probabilities.argmax(axis=1)
    truth = np.searchsorted(model.classes_, tested.target)
    found: dict[str, Any] = {
        "accuracy": (predicted == truth).mean(),
        "coverage": sets[np.arange(len(truth)), truth].mean(),
        "set_size": sets.sum(axis=1).mean(),
        "empty": (~sets.any(axis=1)).mean(),
        "false_alarms": assessed.unknown(FALSE_ALARMS).mean(),
    }
    if name in OTHERS:
        rng = np.random.default_rng(seed)
        some = [tested.images[row] for row in rng.choice(len(tested), N_STRANGE, replace=False)]
        kinds = dict(strange_images(some, name == "yaleb", seed))
        for other in OTHERS[name]:
            images = _load(other)
            kinds[other] = [images.images[row] for row in rng.choice(len(images), N_STRANGE, replace=False)]
        found["rejected"] = {kind: model.is_unknown(each, FALSE_ALARMS).mean() for kind, each in kinds.items()}
    return found


def measure_unseen(name: str, t: int, seed: int) -> dict[str, Any]:
    """AUROC of novelty, and of one minus the largest probability, for images of classes that were left out."""
    data = _load(name)
    train, test = split(data.target, t, seed)
    classes = np.unique(data.target)
    out = np.random.default_rng(seed).permutation(classes)[: round(LEFT_OUT[name] * len(classes))]
    model = trained(data, train[~np.isin(data.target[train], out)], seed)
    tested, unseen = data.take(test), np.isin(data.target[test], out)
    found = model.assess(tested.images)
    scores = {"novelty": found.novelty, "probability": 1 - found.probabilities.max(axis=1)}
    return {f"auroc_{each}": roc_auc_score(unseen, score) for each, score in scores.items()}


def _load(name: str) -> ImageSet:
    data = load_dataset(name)
    if name != "caltech101":
        return data
    names = np.array(data.target_names)[data.target]
    return data.take(np.flatnonzero(names != "BACKGROUND_Google"))


def tables(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown: means in percent, with standard errors if there are several seeds."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        task, name, t, _ = row["run"]
        groups.setdefault((task, name, t), []).append(row)
    columns = ("coverage", "set_size", "empty", "false_alarms", "accuracy")
    sets = [
        "| data | t | seeds | coverage | labels in a set | empty sets | false alarms | accuracy |",
        "|---" * 8 + "|",
    ]
    rejected = ["| model of | images of other kinds | rejected |", "|---" * 3 + "|"]
    unseen = ["| data | seeds | AUROC of novelty | AUROC of the largest probability |", "|---" * 4 + "|"]
    for (task, name, t), found in sorted(groups.items()):
        if task == "unseen":
            values = (_mean([row[f"auroc_{score}"] for row in found], 1) for score in ("novelty", "probability"))
            unseen.append(f"| {name} | {len(found)} | {' | '.join(values)} |")
            continue
        scales = (1 if column == "set_size" else 100 for column in columns)
        cells = [_mean([row[column] for row in found], scale) for column, scale in zip(columns, scales, strict=True)]
        sets.append(f"| {name} | {t} | {len(found)} | {' | '.join(cells)} |")
        for kind in found[0].get("rejected", ()):
            rejected.append(f"| {name} | {kind} | {_mean([row['rejected'][kind] for row in found], 100)} |")
    return "\n".join([*sets, "", *rejected, "", *unseen])


def _mean(values: list[float], scale: int) -> str:
    """Mean and standard error.

    >>> _mean([0.94, 0.96], 100), _mean([0.5], 1)
    ('95.0 ± 1.0', '0.50')
    """
    digits = 1 if scale == 100 else 2
    error = f" ± {scale * np.std(values, ddof=1) / len(values) ** 0.5:.{digits}f}" if len(values) > 1 else ""
    return f"{scale * np.mean(values):.{digits}f}{error}"


def main() -> None:
    """Run what is missing, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--only", default="", help="data sets, comma-separated")
    parser.add_argument("--out", type=Path, required=True, help="file of results, to start or to continue")
    chosen = parser.parse_args()
    lines = chosen.out.read_text().splitlines() if chosen.out.exists() else []
    done = [json.loads(line)["run"] for line in lines]
    for seed, (task, sets) in product(range(chosen.first, chosen.first + chosen.seeds), TASKS.items()):
        for name, t in sets.items():
            run = [task, name, t, seed]
            if run not in done and name in (chosen.only.split(",") if chosen.only else sets):
                found = (measure_sets if task == "sets" else measure_unseen)(name, t, seed)
                line = json.dumps({"run": run} | found, default=float)
                print(line, flush=True)
                with chosen.out.open("a") as file:
                    file.write(line + "\n")
    print(tables([json.loads(line) for line in chosen.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
