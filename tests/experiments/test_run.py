"""Run directories: killed, shared, foreign, damaged, on a full disk."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from ddlcn.errors import DDLCNError
from ddlcn.experiments.bench import bench
from ddlcn.experiments.grid import make_grid
from ddlcn.experiments.run import Run, job_of

ASKED = {"dataset": "digits", "methods": "ddlcn,ddlcn-1", "settings": "1-1,2-2", "t": "2,4", "splits": 2}
WORK = f"""
import sys
from ddlcn.experiments.bench import bench
from ddlcn.experiments.grid import make_grid
for done in bench(make_grid(**{ASKED}), sys.argv[1]):
    print(*done, flush=True)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    for _ in bench(make_grid(**ASKED), path):
        pass
    return path


def start(path):
    return subprocess.Popen([sys.executable, "-c", WORK, str(path)], stdout=subprocess.PIPE, text=True)


def answers(path):
    return {job_of(row): (row["accuracy"], row["predicted"]) for row in Run(path).rows()}


def check_whole(path, finished):
    assert set(Counter(job_of(row) for row in Run(path).rows()).values()) == {1}
    assert answers(path) == answers(finished)


def test_killed_at_random_moments_it_goes_on_and_repeats_nothing(tmp_path, finished):
    rng = random.Random(0)
    for _ in range(2):
        process = start(tmp_path)
        for _ in range(rng.randint(1, 5)):
            process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start(tmp_path)
    first = process.communicate(timeout=120)[0].splitlines()[0]
    assert int(first.split()[0]) > 0
    check_whole(tmp_path, finished)


def test_two_processes_share_the_work(tmp_path, finished):
    processes = [start(tmp_path) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert all(output.splitlines() for output in outputs)
    check_whole(tmp_path, finished)


def test_a_finished_run_computes_nothing(finished):
    before = (finished / "rows.jsonl").read_bytes()
    assert list(bench(make_grid(**ASKED), finished)) == [(16, 16)]
    assert (finished / "rows.jsonl").read_bytes() == before


def test_a_part_of_a_line_is_cut_off(tmp_path, finished):
    for _ in bench(make_grid(**ASKED | {"splits": 1}), tmp_path):
        pass
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-50])
    assert len(Run(tmp_path).rows()) == 7
    for _ in bench(make_grid(**ASKED | {"splits": 1}), tmp_path):
        pass
    assert sorted(answers(tmp_path).items(), key=str) == sorted(
        ((job, answer) for job, answer in answers(finished).items() if job.split == 0), key=str
    )


def test_rows_tell_all(finished):
    row = Run(finished).rows()[0]
    assert {"accuracy", "class_accuracy", "predicted", "truth", "seconds", "ms_per_test_image"} <= set(row)
    assert {"peak_memory_mb", "versions", "machine", "seed", "commit", "layers"} <= set(row)
    right = sum(a == b for a, b in zip(row["predicted"], row["truth"], strict=True))
    assert row["accuracy"] == pytest.approx(right / len(row["truth"]))


@pytest.mark.parametrize("change", [{"splits": 4}, {"methods": "ddlcn"}, {"seed": 1}, {"leak": True}])
def test_another_grid_is_refused(finished, change):
    with pytest.raises(DDLCNError, match=f"another grid .{next(iter(change))} was"):
        next(bench(make_grid(**ASKED | change), finished))


@pytest.mark.parametrize(
    ("change", "told"), [({"version": "9.9"}, "made by ddlcn 9.9"), ({"format": 2}, "format 2")]
)
def test_another_version_is_refused(tmp_path, change, told):
    grid = make_grid(**ASKED)
    Run.create(tmp_path, grid, {"classes": [], "images": ""})
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(DDLCNError, match=told):
        Run.create(tmp_path, grid, {"classes": [], "images": ""})


def test_foreign_folders_are_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DDLCNError, match=r"holds 'thesis\.txt'"):
        next(bench(make_grid(**ASKED), tmp_path))
    with pytest.raises(DDLCNError, match="is no run"):
        Run(tmp_path)


def test_damaged_files_are_told(tmp_path):
    run = Run.create(tmp_path, make_grid(**ASKED), {"classes": [], "images": ""})
    (tmp_path / "rows.jsonl").write_bytes(b"nonsense\n")
    with pytest.raises(DDLCNError, match="damaged line at byte 0"):
        run.rows()
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(DDLCNError, match="is damaged"):
        Run(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_told(tmp_path):
    run = Run.create(tmp_path, make_grid(**ASKED), {"classes": [], "images": ""})
    (tmp_path / "rows.jsonl").symlink_to("/dev/full")
    with pytest.raises(DDLCNError, match=r"can't write to .*the same command"):
        run.append({"x": 1})
