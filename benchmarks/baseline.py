"""Accuracy, time and memory of the presets on real data: what a change must not lower.

    python -m benchmarks.baseline --out docs/results/version2.json
    python -m benchmarks.baseline --compare docs/results/baseline.json docs/results/version2.json

Per class t images train and up to 40 others test, drawn by the seed (MNIST without t: its own two parts). Each
training is a new process in a memory cgroup of 2 GB (cgroup v1, as root), page cache included. Finished runs are in
the file and are not repeated. `docs/results/baseline.json` is of version 1 (commit 0a671f3), made by a copy of this
file there. Times are those of a quiet machine for seed 0 only; the other seeds ran beside other work and have none.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

# name, t, images per class p, atoms per class q, seeds
ROWS = (
    ("digits", 0.5, 15, 15, 10),
    ("neu_det", 5, 15, 15, 10),
    ("neu_det", 20, 15, 15, 10),
    ("wbc1", 5, 15, 15, 10),
    ("wbc1", 20, 15, 15, 10),
    ("flowers17", 5, 15, 15, 10),
    ("flowers17", 20, 15, 15, 10),
    ("yaleb", 2, 15, 15, 10),
    ("yaleb", 5, 15, 15, 10),
    ("yaleb", 0.5, 1, 1, 10),
    ("yaleb", 0.5, 15, 15, 10),
    ("ar", 20, 5, 5, 10),
    ("caltech256", 30, 15, 15, 10),
    ("mnist", 2, 15, 15, 10),
    ("mnist", None, 1, 2, 1),
    ("mnist", None, 100, 100, 1),
    ("mnist", None, 500, 500, 1),
    ("caltech101", 30, 30, 30, 10),
)
GROUP = Path("/sys/fs/cgroup/memory/ddlcn")
LIMIT = 2 * 1024**3


def draw(target: Any, t: float | None, seed: int) -> tuple[Any, Any]:
    """Rows that train and rows that test."""
    import numpy as np

    if t is None:
        return np.arange(60_000), np.arange(60_000, 70_000)
    rng, train, test = np.random.default_rng(seed), [], []
    for label in np.unique(target):
        order = rng.permutation(np.flatnonzero(target == label))
        n = t if isinstance(t, int) else int(t * len(order) + 0.5)
        train.append(order[:n])
        test.append(order[n : n + 40])
    return np.concatenate(train), np.concatenate(test)


def measure(name: str, t: float | None, p: int, q: int, preset: str, seed: int) -> dict[str, Any]:
    """One training and its test, in this process."""
    import numpy as np
    from sklearn.metrics import balanced_accuracy_score

    from ddlcn import DDLCNClassifier
    from ddlcn_lab.datasets import load_dataset

    data = load_dataset(name, os.environ["DDLCN_DATA"])
    train, test = draw(data.target, t, seed)
    start = perf_counter()
    preset, _, backbone = preset.partition("+")  # as in best+efficientnet-lite0
    settings: dict[str, Any] = {"preset": preset, "backbone": backbone or None, "random_state": seed, "n_jobs": 2}
    model = DDLCNClassifier(images_per_class=p, atoms_per_class=q, **settings)
    model.fit([data.images[row] for row in train], data.target[train])
    fitted = perf_counter()
    predicted = model.predict([data.images[row] for row in test])
    return {
        "accuracy": float(np.mean(predicted == data.target[test])),
        "balanced_accuracy": float(balanced_accuracy_score(data.target[test], predicted)),
        "fit_seconds": round(fitted - start, 2),
        "predict_seconds": round(perf_counter() - fitted, 2),
        "n_train": len(train),
        "n_test": len(test),
    }


def in_cgroup(task: list[Any], limit: int | None) -> dict[str, Any]:
    """The same in a new process that may use `limit` bytes, page cache included."""
    if limit is not None:
        GROUP.mkdir(exist_ok=True)
        (GROUP / "memory.limit_in_bytes").write_text(str(limit))
        (GROUP / "memory.max_usage_in_bytes").write_text("0")
    join = f"echo $$ > {GROUP}/tasks; " if limit is not None else ""
    command = f"{join}exec {sys.executable} -m benchmarks.baseline --task '{json.dumps(task)}'"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr[-500:]}
    found = json.loads(done.stdout)
    if limit is not None:
        found["peak_mb"] = int((GROUP / "memory.max_usage_in_bytes").read_text()) >> 20
    return found


def compare(before: Path, after: Path) -> None:
    """Print the paired difference of each row, and which are below by more than two standard errors."""
    tables = [
        {json.dumps(run["task"]): run for run in read(path)["runs"] if "failed" not in run} for path in (before, after)
    ]
    groups: dict[str, list[str]] = {}
    for key in tables[0].keys() & tables[1].keys():
        groups.setdefault(json.dumps(json.loads(key)[:5]), []).append(key)
    for group, keys in sorted(groups.items()):
        pairs = [[100 * table[key]["accuracy"] for table in tables] for key in keys]
        old, new = (statistics.mean(column) for column in zip(*pairs, strict=True))
        gains = [b - a for a, b in pairs]
        error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
        verdict = "below" if new - old < -2 * error else ""
        print(f"{group:42} {len(keys):2} seeds  {old:6.2f} -> {new:6.2f}  {new - old:+.2f} ± {error:.2f} {verdict}")


def read(path: Path) -> dict[str, Any]:
    """The file, or an empty one."""
    command = f"python -m benchmarks.baseline --out {path}"
    return json.loads(path.read_text()) if path.exists() else {"command": command, "runs": []}


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a line per run."""
    head = json.dumps({key: value for key, value in content.items() if key != "runs"})[:-1]
    runs = ",\n".join(json.dumps(run) for run in content["runs"])
    path.with_suffix(".part").write_text(f'{head}, "runs": [\n{runs}\n]}}\n')
    path.with_suffix(".part").replace(path)


def main() -> None:
    """Run what is missing, or compare two files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file of results, to start or to continue")
    parser.add_argument("--compare", type=Path, nargs=2, help="two such files")
    parser.add_argument("--task", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="data sets, comma-separated")
    parser.add_argument("--presets", default="paper,best", help="comma-separated; also best+efficientnet-lite0")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--no-limit", action="store_true", help="without the memory cgroup")
    chosen = parser.parse_args()
    os.environ.setdefault("DDLCN_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    if chosen.task:
        print(json.dumps(measure(*chosen.task)))
    elif chosen.compare:
        compare(*chosen.compare)
    else:
        run_missing(chosen)


def run_missing(chosen: argparse.Namespace) -> None:
    """Run the tasks that the file does not have, seed by seed."""
    names = chosen.only.split(",") if chosen.only else [row[0] for row in ROWS]
    for seed, (name, t, p, q, seeds), preset in product(range(chosen.seeds), ROWS, chosen.presets.split(",")):
        task, found = [name, t, p, q, preset, seed], read(chosen.out)
        if name in names and seed < seeds and not any(run["task"] == task for run in found["runs"]):
            found["runs"].append({"task": task} | in_cgroup(task, None if chosen.no_limit else LIMIT))
            print(found["runs"][-1], flush=True)
            write(chosen.out, found)


if __name__ == "__main__":
    main()
