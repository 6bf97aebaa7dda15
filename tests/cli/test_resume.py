"""`ddlcn train` and `ddlcn bench`, killed at any moment, interrupted, on a full disk, twice at once."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddlcn.experiments.run import Run, job_of
from tests.cli.conftest import QUICK, write_images

KILLS = [pytest.param(4, id="4"), pytest.param(50, id="50", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("resume") / "data", n=60)


@pytest.fixture(scope="module")
def whole(data: Path) -> bytes:
    """The model of a training that nothing disturbed."""
    assert end(train(data, data.parent / "whole")) == 0
    return (data.parent / "whole").read_bytes()


def train(data: Path, output: Path, *more: str, **kwargs) -> subprocess.Popen:
    command = [sys.executable, "-m", "ddlcn", "train", str(data), "-o", str(output), *QUICK, *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **kwargs)


def end(process: subprocess.Popen) -> int:
    process.communicate(timeout=300)
    return process.returncode


def units(work: Path) -> int:
    return len(list(work.glob("*.safetensors"))) if work.exists() else 0


def wait_for(process: subprocess.Popen, work: Path, more: int) -> None:
    """Until so many more units are there, or the process ends."""
    wanted = units(work) + more
    while process.poll() is None and units(work) < wanted:
        time.sleep(0.002)


@pytest.mark.parametrize("kills", KILLS)
def test_killed_at_random_moments_train_ends_with_the_same_bytes(
    data: Path, whole: bytes, tmp_path: Path, kills: int
) -> None:
    rng, model, work = random.Random(kills), tmp_path / "m", tmp_path / "m.work"
    killed, done = 0, [0]
    while killed < kills:
        process = train(data, model)
        wait_for(process, work, rng.randint(1, 3))
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        if end(process) == -signal.SIGKILL:
            killed += 1
            done.append(units(work))
        else:  # it ended first: begin anew
            assert model.read_bytes() == whole
            model.unlink()
    assert max(done) > 3
    assert end(train(data, model)) == 0
    assert model.read_bytes() == whole
    assert not work.exists()


@pytest.mark.parametrize("kills", KILLS[1:])
def test_killed_at_random_moments_bench_ends_with_the_same_rows(tmp_path: Path, kills: int) -> None:
    """A shorter form is in tests/experiments/test_run.py."""
    asked = ["digits", "--methods", "ddlcn,ddlcn-1", "--pq", "1-1,2-2", "--t", "2,4", "--splits", "15"]

    def bench(out: Path) -> subprocess.Popen:
        command = [sys.executable, "-m", "ddlcn", "bench", *asked, "--out", str(out), "--jobs", "1"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers(out: Path) -> dict:
        rows = Run(out).rows()
        assert len({job_of(row) for row in rows}) == len(rows) == 120
        return {job_of(row): (row["accuracy"], row["predicted"]) for row in rows}

    def n_rows() -> int:
        path = tmp_path / "r" / "rows.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    rng, killed = random.Random(kills), 0
    while killed < kills:
        process, wanted = bench(tmp_path / "r"), n_rows() + rng.randint(0, 3)
        while process.poll() is None and n_rows() < wanted:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3 if wanted else 3))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        assert n_rows() < 120, "too few rows for so many kills"
    assert n_rows() > 0
    assert bench(tmp_path / "r").wait(300) == 0
    assert bench(tmp_path / "whole").wait(300) == 0
    assert answers(tmp_path / "r") == answers(tmp_path / "whole")


def test_ctrl_c_says_how_to_resume(data: Path, whole: bytes, tmp_path: Path) -> None:
    process = train(data, tmp_path / "m")
    wait_for(process, tmp_path / "m.work", 2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert told.count("\n") == 1
    assert f"finished work is kept in '{tmp_path / 'm.work'}', the same command goes on" in told
    assert units(tmp_path / "m.work") >= 2
    assert end(train(data, tmp_path / "m")) == 0
    assert (tmp_path / "m").read_bytes() == whole


def test_two_runs_on_one_output(data: Path, whole: bytes, tmp_path: Path) -> None:
    runs = [train(data, tmp_path / "m") for _ in range(2)]
    assert [end(run) for run in runs] == [0, 0]
    assert (tmp_path / "m").read_bytes() == whole
    assert os.listdir(tmp_path) == ["m"]


def test_full_disk_is_one_line_and_all_is_kept(data: Path, whole: bytes, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs root, and mount, for a disk that is soon full")
    try:
        process = train(data, disk / "m")
        _, told = process.communicate(timeout=300)
        assert process.returncode == 2
        assert told.count("\n") == 1
        assert "No space left on device" in told
        assert "the same command" in told
        kept = {path: path.read_bytes() for path in (disk / "m.work").glob("*.safetensors")}
        assert kept
        subprocess.run(["mount", "-o", "remount,size=9m", str(disk)], check=True)
        assert end(train(data, disk / "m", "--work", str(disk / "m.work"))) == 0
        assert all(path.read_bytes() == content for path, content in kept.items())
        assert (disk / "m").read_bytes() == whole
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_other_settings_are_not_mixed_in(data: Path, whole: bytes, tmp_path: Path) -> None:
    other = train(data, tmp_path / "m", "--seed", "7")
    wait_for(other, tmp_path / "m.work", 3)
    other.kill()
    end(other)
    assert end(train(data, tmp_path / "m")) == 0
    assert (tmp_path / "m").read_bytes() == whole


def test_grow(data: Path, tmp_path: Path, run) -> None:
    more = write_images(tmp_path / "more", n=6, labels=("other",))
    work = str(tmp_path / "work")
    assert end(train(data, tmp_path / "m", "--work", work)) == 0
    grown = run("grow", tmp_path / "m", more, "-o", tmp_path / "g", "--work", work, "--json").json
    assert grown["n_train"] == 186
    assert grown["classes"][1:] == ["level", "other", "upright"]
    assert (
        "does not hold the rows"
        in run("grow", tmp_path / "g", more, "-o", tmp_path / "h", "--work", tmp_path / "w").line
    )
