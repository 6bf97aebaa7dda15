"""Run folders: killed, shared, foreign, damaged, on a full disk."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.grid import make_grid
from ddlcn_lab.run_folder import Run, job_of
from ddlcn_lab.runner import bench

WORK = """
import json, sys
from ddlcn_lab.runner import bench
from ddlcn_lab.grid import make_grid
for done in bench(make_grid(**json.loads(sys.argv[1])), sys.argv[2]):
    print(*done, flush=True)
"""


@pytest.fixture(scope="module")
def arguments(few_digits):
    """Arguments of a grid of 16 rows."""
    return {"dataset": few_digits, "methods": "ddlcn,ddlcn-1", "settings": "1-1,2-2", "t": "2,4", "splits": 2}


def fill(arguments, path):
    return list(bench(make_grid(**arguments), path))


@pytest.fixture(scope="module")
def finished(arguments, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    fill(arguments, path)
    return path


def empty_run(arguments, path):
    return Run.create(path, make_grid(**arguments), {"classes": [], "images": ""})


def start(arguments, path):
    command = [sys.executable, "-c", WORK, json.dumps(arguments), str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def predictions(path):
    return {job_of(row): (row["accuracy"], row["predicted"]) for row in Run(path).rows()}


def check_complete(path, finished):
    assert sorted(os.listdir(path)) == ["manifest.json", "rows.jsonl", "run.lock"]  # no cache, no claims
    assert set(Counter(job_of(row) for row in Run(path).rows()).values()) == {1}
    assert predictions(path) == predictions(finished)


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.long)])
def test_resume_after_kill(arguments, tmp_path, finished, kills):
    rng, path, killed = random.Random(kills), tmp_path / "run", 0
    while killed < kills:
        process = start(arguments, path)
        for _ in range(rng.randint(1, 5)):
            process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:  # it ended before: start over
            check_complete(path, finished)
            shutil.rmtree(path)
    before = len(Run(path).rows()) if path.exists() else 0
    process = start(arguments, path)
    first = process.communicate(timeout=300)[0].splitlines()[0]
    assert int(first.split()[0]) >= before
    check_complete(path, finished)


def test_two_processes(arguments, tmp_path, finished):
    processes = [start(arguments, tmp_path) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert all(output.splitlines() for output in outputs)
    check_complete(tmp_path, finished)


def test_complete_run(arguments, finished):
    before = (finished / "rows.jsonl").read_bytes()
    assert fill(arguments, finished) == [(16, 16)]
    assert (finished / "rows.jsonl").read_bytes() == before


def test_partial_line(arguments, tmp_path, finished):
    fill(arguments | {"splits": 1}, tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-50])
    assert len(Run(tmp_path).rows()) == 7
    fill(arguments | {"splits": 1}, tmp_path)
    assert predictions(tmp_path) == {job: each for job, each in predictions(finished).items() if job.split == 0}


@pytest.mark.parametrize("change", [{"splits": 4}, {"methods": "ddlcn"}, {"seed": 1}, {"leak": True}])
def test_other_grid(arguments, finished, change):
    with pytest.raises(DDLCNError, match=f"another grid .{next(iter(change))} was"):
        fill(arguments | change, finished)


@pytest.mark.parametrize(("change", "message"), [({"version": "9.9"}, "by ddlcn 9.9"), ({"format": 1}, "format 1")])
def test_other_version(arguments, tmp_path, change, message):
    empty_run(arguments, tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(DDLCNError, match=message):
        empty_run(arguments, tmp_path)


def test_foreign_folder(arguments, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DDLCNError, match=r"holds 'thesis\.txt'"):
        fill(arguments, tmp_path)
    with pytest.raises(DDLCNError, match="is no run folder"):
        Run(tmp_path)


def test_damaged_files(arguments, tmp_path):
    run = empty_run(arguments, tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b"nonsense\n")
    with pytest.raises(DDLCNError, match="damaged line at byte 0"):
        run.rows()
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(DDLCNError, match="is damaged"):
        Run(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk(arguments, tmp_path):
    run = empty_run(arguments, tmp_path)
    (tmp_path / "rows.jsonl").symlink_to("/dev/full")
    with pytest.raises(DDLCNError, match=r"can't write to .*run the same command again"):
        run.append({"x": 1})
