"""`ddlcn train`: killed at any moment, interrupted, twice at once; commands of folds with a work folder."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import QUICK, start, write_images

KILLS = [pytest.param(4, id="4"), pytest.param(50, id="50", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("resume") / "data", n=60)


@pytest.fixture(scope="module")
def whole(data: Path) -> bytes:
    """The model of a training without interruption."""
    assert end(train(data, data.parent / "whole")) == 0
    return (data.parent / "whole").read_bytes()


def train(data: Path, output: Path, *more: object) -> subprocess.Popen:
    return start("train", data, "-o", output, QUICK, *more, stdout=subprocess.DEVNULL)


def end(process: subprocess.Popen) -> int:
    process.communicate(timeout=300)
    return process.returncode


def entries(work: Path) -> int:
    return len(list(work.glob("*.safetensors"))) if work.exists() else 0


def wait_for(process: subprocess.Popen, work: Path, more: int) -> None:
    """Wait for so many more entries of the work folder, or the end of the process."""
    wanted = entries(work) + more
    while process.poll() is None and entries(work) < wanted:
        time.sleep(0.002)


@pytest.mark.parametrize("kills", KILLS)
def test_killed(data: Path, whole: bytes, tmp_path: Path, kills: int) -> None:
    rng, model, work = random.Random(kills), tmp_path / "m", tmp_path / "m.work"
    killed, done = 0, [0]
    while killed < kills:
        process = train(data, model)
        wait_for(process, work, rng.randint(1, 3))
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        if end(process) == -signal.SIGKILL:
            killed += 1
            done.append(entries(work))
        else:  # it ended before: start over
            assert model.read_bytes() == whole
            model.unlink()
    assert max(done) > 3
    assert end(train(data, model)) == 0
    assert model.read_bytes() == whole
    assert not work.exists()


def test_ctrl_c(data: Path, whole: bytes, tmp_path: Path) -> None:
    process = train(data, tmp_path / "m")
    wait_for(process, tmp_path / "m.work", 2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = f"finished work is kept in '{tmp_path / 'm.work'}', run the same command again to resume"
    assert told == f"ddlcn: interrupted; {kept}\n"
    assert entries(tmp_path / "m.work") >= 2
    assert end(train(data, tmp_path / "m")) == 0
    assert (tmp_path / "m").read_bytes() == whole


def test_two_processes_with_one_output(data: Path, whole: bytes, tmp_path: Path) -> None:
    processes = [train(data, tmp_path / "m") for _ in range(2)]
    assert [end(process) for process in processes] == [0, 0]
    assert (tmp_path / "m").read_bytes() == whole
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("command", ["check", "cross-validate"])
def test_ctrl_c_between_folds(data: Path, tmp_path: Path, command: str) -> None:
    work, args = tmp_path / "w", (command, data, "--folds 2 --jobs 1 --json --work", tmp_path / "w")
    process = start(*args)
    wait_for(process, work, 2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == f"ddlcn: interrupted; finished work is kept in '{work}', run the same command again to resume\n"
    assert entries(work) >= 2
