"""What a user waits for: starts of Python and the command line, first predictions, `ddlcn demo` and `ddlcn train`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.data import face_model, task
from benchmarks.measure import Row, race, spell, timed

DDLCN = [sys.executable, "-m", "ddlcn"]
PREDICT = "import sys; from ddlcn import DDLCNClassifier as M; print(M.load(sys.argv[1]).predict(sys.argv[2:]))"


def rows(quick: bool) -> list[Row]:
    """The whole life of a process, seen from outside; compiled kernels are cached but for the first demo."""
    with TemporaryDirectory() as folder:
        return _starts(folder, repeats=2 if quick else 5) + _demo(folder) + _train(folder, n_classes=3 if quick else 17)


def _starts(folder: str, repeats: int) -> list[Row]:
    commands = {
        "import ddlcn": ([sys.executable, "-c", "import ddlcn"], 0.15),
        "ddlcn --help": ([*DDLCN, "--help"], 0.25),
        "first prediction in a new process": (
            [sys.executable, "-c", PREDICT, str(face_model(folder, "best")), task("yaleb")[1].images[0]],
            2,
        ),
    }
    found = []
    for what, (command, limit) in commands.items():
        (seconds,) = race(lambda: _run(command), repeats=repeats, clock=perf_counter)  # noqa: B023
        found.append(Row(what, spell(seconds), "–", seconds, f"≤ {limit} s"))
    return found


def _demo(folder: str) -> list[Row]:
    found = []
    for what, limit in (("first ddlcn demo with report, empty kernel cache", 10), ("the same, kernels cached", 3.5)):
        command = [*DDLCN, "demo", "--report", f"{folder}/{len(found)}"]
        _, seconds = timed(lambda: _run(command, NUMBA_CACHE_DIR=f"{folder}/kernels"))  # noqa: B023
        found.append(Row(what, spell(seconds), "–", seconds, f"≤ {limit} s"))
    return found


def _train(folder: str, n_classes: int) -> list[Row]:
    train, test = task("flowers17", 20, n_classes)
    listing = Path(folder) / "flowers.csv"
    pairs = [(path, label) for part in (train, test) for path, label in zip(part.images, part.labels, strict=True)]
    listing.write_text("".join(f"{path},{label}\n" for path, label in pairs))
    command = [*DDLCN, "train", str(listing), "-t", "20", "--json", "--report", f"{folder}/report"]
    _run([*command, "-o", f"{folder}/1.ddlcn"])  # kernels of colour may not be cached
    told, seconds = timed(lambda: json.loads(_run([*command, "-o", f"{folder}/2.ddlcn"])))
    stages = told["timings"]
    what = f"ddlcn train flowers17, 20 of each of {n_classes} classes, test of {len(test)} and report"
    text = ", ".join(f"{stage} {taken:.1f}" for stage, taken in stages.items())
    per_image = 1000 * stages["report"] / len(test)
    return [
        Row(what, f"{spell(seconds)} ({text})", "–", seconds, "≤ 30 s"),
        Row("report of it, per test image", f"{per_image:.1f} ms", "–", per_image, "≤ 8 ms"),
    ]


def _run(command: list, **environment: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return done.stdout
