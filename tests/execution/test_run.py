"""Sessions: the same results on threads and in a work folder, interrupted or not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from ddlcn.errors import DDLCNError
from ddlcn.execution import session
from ddlcn.execution.cache import EntryError, WorkFolder
from tests.execution.tasks import check_rows, fail, logged_rows, rows

CALLS = [(seed,) for seed in range(6)]


def run_rows(run, calls=CALLS, function=rows):
    return list(run.map("rows", function, calls, "Rows"))


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


def entries(work):
    return sorted(work.glob("*.safetensors"))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("address", [None, "{}/work", "memory://run-{}"])
def test_same_results_everywhere(tmp_path, address, n_jobs):
    for _ in range(2):
        with session(address and address.format(tmp_path), n_jobs) as run:
            check_rows(run_rows(run))


@pytest.mark.parametrize("address", [None, "work"])
def test_processes_of_joblib(tmp_path, address):
    with parallel_config("loky", n_jobs=2), session(address and tmp_path / address) as run:
        check_rows(run_rows(run))


def test_nothing_is_stored_without_a_work_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with session(n_jobs=2) as run:
        run_rows(run)
        run.save("facts", {"a": np.arange(2)})
        assert not run.keeps
        with pytest.raises(DDLCNError, match="needs the work folder"):
            run.read("facts")
    assert os.listdir(tmp_path) == []


def test_work_is_done_once(work, log):
    for seeds in ([0, 1, 1, 2], range(6), range(6)):
        with session(work, n_jobs=2) as run, run.time("rows"):
            check_rows(run_rows(run, [(seed, str(log)) for seed in seeds], logged_rows), seeds)
        assert list(run.timings) == ["rows"]
    assert sorted(log.read_text().split()) == list("012345")


def test_save_and_read(work):
    with session(work) as run:
        run.save("training", {"y": np.arange(3), "weights": np.ones(3)})
        run.save("part", rows(7))
    with session(work) as run:
        assert_array_equal(run.read("training")["y"], np.arange(3))
        check_rows([run.read("part")], [7])
        (work / "training.safetensors").write_bytes(b"nonsense")
        for name in ("training", "other"):
            with pytest.raises(EntryError, match=rf"'{name}\.safetensors'.*train again with this work folder"):
                run.read(name)


def test_renamed_entry_is_computed_again(work):
    with session(work) as run:
        run_rows(run)
    first, second, *_ = entries(work)
    content = first.read_bytes()
    second.replace(first)
    with pytest.warns(UserWarning, match=f"{first.name}.*computed again"), session(work, n_jobs=2) as run:
        check_rows(run_rows(run))
    assert first.read_bytes() == content


# --------------------------------------------------------------------------------------------- interruptions


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("address", [None, "work"])
def test_interrupted_session_is_closed(tmp_path, n_jobs, address):
    work = address and tmp_path / address
    with pytest.raises(KeyboardInterrupt), session(work, n_jobs) as run:  # noqa: PT012
        results = run.map("rows", rows, CALLS, "Rows")
        next(results)
        raise KeyboardInterrupt
    assert list(results) == []
    if work:
        folder = WorkFolder(work)
        with folder.in_use():
            folder.remove()
        assert not work.exists()  # no process locks it


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("address", [None, "work"])
def test_failed_task(tmp_path, n_jobs, address):
    with pytest.raises(DDLCNError, match="mistake"), session(address and tmp_path / address, n_jobs) as run:
        list(run.map("fail", fail, [("first mistake",), ("second mistake",)], "Failing"))


SCRIPT = """
import sys
from ddlcn.execution import session
from tests.execution.tasks import check_rows, logged_rows
work, log, wait = sys.argv[1:]
with session(work, n_jobs=2) as run:
    check_rows(run.map("rows", logged_rows, [(seed, log, float(wait)) for seed in range(6)], "Rows"))
"""


def start(*arguments):
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def test_killed_and_resumed(work, log):
    process = start(work, log, 0.2)
    while process.poll() is None and len(entries(work)) < 2:
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    done = {path: path.read_bytes() for path in entries(work)}
    assert 2 <= len(done) < 6
    (work / ".rows.safetensors.0.1.tmp").write_bytes(b"half")
    started = len(log.read_text().split())
    assert start(work, log, 0.2).wait() == 0
    assert len(log.read_text().split()) - started == 6 - len(done)
    assert all(path.read_bytes() == content for path, content in done.items())
    assert sorted(path.suffix for path in work.iterdir()) == [".lock"] + [".safetensors"] * 6 + [".txt"]
