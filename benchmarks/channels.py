"""Accuracy with and without a frozen network, beside linear probes on that network.

    python -m benchmarks.channels --out channels.json
    python -m benchmarks.channels --out channels.json --sets wbc1,neu_det --seeds 100-109 --methods probe-lr,probe-svm
    python -m benchmarks.channels --out cnn.json --sets flowers17 --seeds 0-2 --methods cnn:color=True+epochs=100

Per class t images train and up to 40 others test (Caltech-101: 50), drawn by the seed as in `benchmarks.baseline`.
Test images take part in no choice: each method sees the training images of a seed only, and settings of the program
are developed on seeds 100 to 109, final figures are of seeds 0 to 9. Results that are in the file are not repeated;
run the same command again to resume. At the end, the tables of all results in the file are printed as Markdown.

Probes use the same means of maps for all seeds of a data set: a map depends on one image and on nothing that is
learnt. Their seconds are those of the linear model plus the mean time of a map for each image.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.baseline import write
from ddlcn import DDLCNClassifier
from ddlcn.images import ImageSet, take
from ddlcn_lab.datasets import load_dataset
from ddlcn_lab.methods.probes import NETWORK, BackboneMean
from ddlcn_lab.methods.registry import get_method

METHODS = ("ddlcn", "ddlcn-backbone", "probe-lr", "probe-svm")
N_JOBS = 2


class Row(NamedTuple):
    """A line of the table: what it must reach in percent, without a backbone and with it."""

    name: str
    t: int
    without: float
    with_backbone: float
    most_test: int = 40
    measure: str = "accuracy"


ROWS = (
    Row("wbc1", 5, 66, 74, measure="balanced_accuracy"),
    Row("wbc1", 20, 84, 89, measure="balanced_accuracy"),
    Row("neu_det", 5, 83, 94),
    Row("neu_det", 20, 96.5, 98.5),
    Row("flowers17", 5, 60, 83),
    Row("flowers17", 20, 79, 93.5),
    Row("caltech256", 30, 77, 95.5),
    Row("caltech101", 15, 70, 93, most_test=50),
    Row("caltech101", 30, 79, 95.5, most_test=50),
)


def draw(target: np.ndarray, t: int, seed: int, most_test: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rows that train and rows that test: with 40, those of `benchmarks.baseline`."""
    rng, train, test = np.random.default_rng(seed), [], []
    for label in np.unique(target):
        order = rng.permutation(np.flatnonzero(target == label))
        train.append(order[:t])
        test.append(order[t : t + most_test])
    return np.concatenate(train), np.concatenate(test)


class Means:
    """Means of the maps of a data set's images, computed when they are first used and kept in memory."""

    def __init__(self, data: ImageSet) -> None:
        self.images, self.transformer, self.seconds = data.images, BackboneMean(n_jobs=N_JOBS), 0.0
        self.rows: dict[int, np.ndarray] = {}

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The means of some images, one row each."""
        missing = [row for row in rows.tolist() if row not in self.rows]
        if missing:
            images = take(self.images, np.array(missing))
            start = perf_counter()
            found = self.transformer.fit_transform(images)
            self.seconds += perf_counter() - start
            self.rows |= dict(zip(missing, found, strict=True))
        return np.stack([self.rows[row] for row in rows.tolist()])

    @property
    def seconds_per_image(self) -> float:
        """The mean time of a map."""
        return self.seconds / len(self.rows)


def measure(row: Row, method: str, seed: int, data: ImageSet, means: Means) -> dict[str, Any]:
    """One training and its test."""
    train, test = draw(data.target, row.t, seed, row.most_test)
    y, truth = data.target[train], data.target[test]
    extra = 0.0
    if method.startswith("probe"):
        model: Any = get_method(method).make(None, 0, seed, N_JOBS)[1:]  # without the network
        X, X_test = means.of(train), means.of(test)
        extra = means.seconds_per_image
    else:
        backbone = NETWORK if method == "ddlcn-backbone" else None
        model = DDLCNClassifier(backbone=backbone, random_state=seed, n_jobs=N_JOBS)
        if method not in METHODS:
            model = get_method(method).make(None, 0, seed, N_JOBS)
        X, X_test = take(data.images, train), take(data.images, test)
    start = perf_counter()
    model.fit(X, y)
    fitted = perf_counter()
    predicted = model.predict(X_test)
    predict_seconds = perf_counter() - fitted
    return {
        "accuracy": float(np.mean(predicted == truth)),
        "balanced_accuracy": float(balanced_accuracy_score(truth, predicted)),
        "fit_seconds": round(fitted - start + extra * len(train), 2),
        "predict_seconds": round(predict_seconds + extra * len(test), 2),
        "n_train": len(train),
        "n_test": len(test),
    } | _chosen(model)


def _chosen(model: Any) -> dict[str, Any]:
    """Settings by selection, as {setting: candidate}."""
    chosen = {row["setting"]: row["candidate"] for row in getattr(model, "selection_", ()) if row["chosen"]}
    return {"selection": json.loads(json.dumps(chosen, default=str))} if chosen else {}


def run_missing(out: Path, names: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> None:
    """Run what the file does not have: data set by data set, and there seed by seed."""
    for name in dict.fromkeys(row.name for row in ROWS if row.name in names):
        data = means = None
        for seed in seeds:
            for row, method in ((row, method) for row in ROWS if row.name == name for method in methods):
                task = [name, row.t, method, seed]
                if any(run["task"] == task for run in read(out)["runs"]):
                    continue
                if data is None or means is None:
                    data = load_dataset(name)
                    means = Means(data)
                found = {"task": task} | measure(row, method, seed, data, means)
                print(found, flush=True)
                content = read(out)  # again: another process may have added results
                content["runs"].append(found)
                write(out, content)


def read(path: Path) -> dict[str, Any]:
    """The file, or an empty one."""
    command = f"python -m benchmarks.channels --out {path}"
    return json.loads(path.read_text()) if path.exists() else {"command": command, "runs": []}


def tables(runs: list[dict[str, Any]]) -> str:
    """Two tables: what the targets are about, and everything that was measured; in percent ± standard error."""
    found: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for run in runs:
        found.setdefault(tuple(run["task"][:3]), {})[run["task"][3]] = run
    rows = [row for row in ROWS if any(key[:2] == (row.name, row.t) for key in found)]
    first = [
        _target_line(row, [found.get((row.name, row.t, method), {}) for method in METHODS])
        for row in rows
        if any(key == (row.name, row.t, method) for key in found for method in METHODS)
    ]
    second = [
        _all_line(row, method, found[row.name, row.t, method])
        for row in rows
        for method in dict.fromkeys([*METHODS, *(key[2] for key in found)])
        if (row.name, row.t, method) in found
    ]
    heads = (
        ("data", "t", "seeds", "measure", "without", "target", f"with {NETWORK}", "target", "probe-lr", "probe-svm",
         "with, less the best other"),
        ("data", "t", "method", "seeds", "accuracy", "balanced accuracy", "fit s", "predict ms per image"),
    )  # fmt: skip
    return "\n\n".join(
        "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
        for head, body in zip(heads, (first, second), strict=True)
    )


def _target_line(row: Row, found: list[dict[int, dict[str, Any]]]) -> list[str]:
    values = [{seed: 100 * run[row.measure] for seed, run in runs.items()} for runs in found]
    n = sorted({len(each) for each in values} - {0})
    without, with_backbone, *probes = (list(each.values()) for each in values)
    return [
        *(row.name, str(row.t), " to ".join(map(str, sorted({n[0], n[-1]}))), row.measure.replace("_", " ")),
        *(_mean(without), _target(row.without, without), _mean(with_backbone)),
        *(_target(row.with_backbone, with_backbone), *map(_mean, probes), _lead(values)),
    ]


def _all_line(row: Row, method: str, runs: dict[int, dict[str, Any]]) -> list[str]:
    every = list(runs.values())
    fit = statistics.median(run["fit_seconds"] for run in every)
    ms = statistics.median(1000 * run["predict_seconds"] / run["n_test"] for run in every)
    shares = (_mean([100 * run[name] for run in every]) for name in ("accuracy", "balanced_accuracy"))
    return [row.name, str(row.t), method, str(len(every)), *shares, f"{fit:.1f}", f"{ms:.1f}"]


def _error(values: Sequence[float]) -> float:
    """The standard error, of two values at least."""
    return statistics.stdev(values) / len(values) ** 0.5


def _mean(values: Sequence[float]) -> str:
    if len(values) > 1:
        return f"{statistics.mean(values):.2f} ± {_error(values):.2f}"
    return f"{values[0]:.2f}" if values else "–"


def _target(target: float, values: Sequence[float]) -> str:
    """The target; and with several seeds, whether it is met or within two standard errors."""
    if len(values) < 2:
        return f"≥ {target:g}"
    return f"≥ {target:g}, {'met' if statistics.mean(values) + 2 * _error(values) >= target else 'missed'}"


def _lead(values: list[dict[int, float]]) -> str:
    """Paired differences of the second method to the best of the others, on the seeds that both have."""
    others = [each for each in (values[0], *values[2:]) if each.keys() & values[1].keys()]
    if not others:
        return "–"
    best = max(others, key=lambda each: statistics.mean(each[seed] for seed in each.keys() & values[1].keys()))
    gains = [values[1][seed] - best[seed] for seed in sorted(best.keys() & values[1].keys())]
    below = len(gains) > 1 and statistics.mean(gains) < -2 * _error(gains)
    return _mean(gains) + (", below" if below else "")


def _seeds(text: str) -> range:
    """Seeds from the first to the last of "100-109", or the only one of "100"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file of results, to start or to continue")
    parser.add_argument("--sets", default=",".join(dict.fromkeys(row.name for row in ROWS)), help="comma-separated")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated; also of the laboratory")
    parser.add_argument("--seeds", type=_seeds, default=range(100, 110), help="as in 100-109")
    parser.add_argument("--table", action="store_true", help="print the tables of the file and run nothing")
    chosen = parser.parse_args()
    names, methods = chosen.sets.split(","), chosen.methods.split(",")
    known = {row.name for row in ROWS}
    if unknown := set(names) - known:
        parser.error(f"{min(unknown)!r} is unknown; choose from {', '.join(sorted(known))}")
    for method in set(methods) - set(METHODS):
        get_method(method)  # raises if it is unknown
    os.environ.setdefault("DDLCN_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    if not chosen.table:
        run_missing(chosen.out, names, methods, chosen.seeds)
    print(tables(read(chosen.out)["runs"]))


if __name__ == "__main__":
    main()
