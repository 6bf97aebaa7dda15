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
from threadpoolctl import threadpool_info

from ddlcn.errors import DDLCNError
from ddlcn.execution import session
from ddlcn.execution.cache import EntryError, WorkFolder
from ddlcn.execution.progress import listen
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
            run.load("facts")
    assert os.listdir(tmp_path) == []


def test_results_come_in_turn(work, log):
    with session(work) as run:
        results = run.map("rows", logged_rows, [(seed, str(log)) for seed in range(4)], "Rows")
        assert log.read_text() == ""
        next(results)
        assert log.read_text() == "0\n"
        assert len(list(results)) == 3


def test_work_is_done_once(work, log):
    for seeds in ([0, 1, 1, 2], range(6), range(6)):
        with session(work, n_jobs=2) as run:
            check_rows(run_rows(run, [(seed, str(log)) for seed in seeds], logged_rows), seeds)
    assert sorted(log.read_text().split()) == list("012345")


def test_one_blas_thread_in_tasks():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    before = threads()
    with session(n_jobs=2) as run:
        assert list(run.map("threads", threads, [()] * 4, "")) == [{1}] * 4
    assert threads() == before


def test_progress_and_timings(work):
    told = []
    with listen(lambda *each: told.append(each)), session(work) as run, run.time("rows"):
        run_rows(run, CALLS[:2])
    assert told == [("Rows", 0, 2), ("Rows", 1, 2), ("Rows", 2, 2)]
    assert list(run.timings) == ["rows"]


def test_verbose(monkeypatch, capsys):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with session(verbose=True) as run:
        run_rows(run)
    assert "Rows" in capsys.readouterr().err


def test_save_and_load(work):
    with session(work) as run:
        run.save("training", {"y": np.arange(3), "weights": np.ones(3)})
        run.save("part", rows(7))
    with session(work) as run:
        assert_array_equal(run.load("training")["y"], np.arange(3))
        check_rows([run.read("part")], [7])
        with pytest.raises(EntryError, match="has no named arrays"):
            run.load("part")
        (work / "training.safetensors").write_bytes(b"nonsense")
        for name in ("training", "other"):
            with pytest.raises(EntryError, match=rf"'{name}\.safetensors'.*train again with this work folder"):
                run.load(name)


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
        assert not work.exists()  # nobody locks it


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


def test_two_processes_share_a_folder(work, log):
    processes = [start(work, log, 0.05) for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert len(entries(work)) == 6
    assert not list(work.glob(".*"))
