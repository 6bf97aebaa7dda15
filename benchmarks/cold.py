"""The first answer in a new process: start Python, import, load a model, predict; compiled code is cached."""

import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.data import face_model, task
from benchmarks.measure import Row, race, spell

PROGRAM = "import sys; from ddlcn import DDLCNClassifier as M; print(M.load(sys.argv[1]).predict(sys.argv[2:]))"


def rows(quick: bool) -> list[Row]:
    """The whole life of the process, seen from outside."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PROGRAM, face_model(folder, "best"), task("yaleb")[1].images[0]]
        (seconds,) = race(
            lambda: subprocess.run(command, check=True, capture_output=True),
            repeats=2 if quick else 5,
            clock=perf_counter,
        )
    return [Row("first prediction in a new process", spell(seconds), "–", seconds, "≤ 2 s")]
