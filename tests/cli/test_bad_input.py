"""Every mistake ends in one line that names the thing and the remedy, exit code 2, nothing half-written."""

import errno
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ddlcn import DDLCNClassifier, DDLCNError
from tests.cli.conftest import QUICK, Run, write_images


@pytest.fixture
def refused(run: Run, tmp_path: Path):
    """Train on a folder, be refused, and return the one line; nothing may be left behind."""

    def refused(data: Path, *options: str) -> str:
        (tmp_path / "out").mkdir()
        line = run("train", data, "-o", tmp_path / "out" / "m.ddlcn", *QUICK, *options).line
        assert not any((tmp_path / "out").iterdir())
        return line

    return refused


def test_missing_folder(refused, tmp_path: Path) -> None:
    assert "nowhere' does not exist; check the path" in refused(tmp_path / "nowhere")


def test_empty_folder(refused, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert re.search("empty' has no folder per class; sort the images", refused(tmp_path / "empty"))


def test_folder_of_images_without_classes(refused, data: Path) -> None:
    assert re.search("level' has no folder per class; sort the images", refused(data / "level"))


def test_one_class(refused, tmp_path: Path) -> None:
    only = write_images(tmp_path / "data", labels=("lonely",))
    assert re.search(r"data' has only 1 class\(es\), lonely; add classes", refused(only))


def test_class_with_one_image(refused, data: Path) -> None:
    for seed in range(1, 6):
        (data / "level" / f"{seed}.png").unlink()
    assert re.search(r"class 'level' has 1 usable image\(s\), 2 needed; add images", refused(data))


def test_unreadable_image(refused, data: Path) -> None:
    (data / "level" / "0.png").write_bytes(b"no image")
    assert "0.png' is no image of a known kind; replace it" in refused(data, "--strict")


def test_nan_pixels(refused, tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((8, 20, 20))
    images[3, 2, 2] = np.nan
    np.savez(tmp_path / "nan.npz", images=images, labels=["a", "b"] * 4)
    assert re.search(
        r"nan.npz\[3\]' has NaN .* pixels; replace them", refused(tmp_path / "nan.npz", "--strict")
    )
    with pytest.raises(DDLCNError, match="NaN"):
        DDLCNClassifier().fit(images, ["a", "b"] * 4)


def test_label_count(refused, tmp_path: Path) -> None:
    images = np.zeros((8, 20, 20))
    np.savez(tmp_path / "odd.npz", images=images, labels=["a", "b", "a"])
    assert re.search(r"odd.npz' has 8 images and labels .* give one label", refused(tmp_path / "odd.npz"))
    with pytest.raises(DDLCNError, match="8 images but 3 labels: give one label"):
        DDLCNClassifier().fit(images, ["a", "b", "a"])


def test_wrong_image_shape() -> None:
    with pytest.raises(DDLCNError, match=r"image_shape=\(7, 8\) does not fit rows of 64 pixels: give"):
        DDLCNClassifier(image_shape=(7, 8)).fit(np.zeros((4, 64)), [0, 1, 0, 1])


def test_predicting_before_fitting(tmp_path: Path) -> None:
    for ask in (DDLCNClassifier().predict, DDLCNClassifier().explain, DDLCNClassifier().save):
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            ask([np.zeros((20, 20))])


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere/m", "No such file or directory"),
        ("data", "it is a folder"),
        ("data/level/0.png/m", "Not a directory"),
        ("pipe", "it is no regular file"),
        pytest.param(
            "locked/m", "Permission denied", marks=pytest.mark.skipif(os.getuid() == 0, reason="root")
        ),
    ],
)
def test_output_not_writable(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    monkeypatch.setattr(DDLCNClassifier, "fit", lambda *_: pytest.fail("worked before it looked"))
    (tmp_path / "locked").mkdir(mode=0o500)
    os.mkfifo(tmp_path / "pipe")
    line = run("train", data, "-o", tmp_path / place, *QUICK).line
    assert f"can't write {str(tmp_path / place)!r}" in line
    assert reason in line


def test_disk_full_while_saving(refused, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    wanted = r"can't write to .*m.ddlcn.work' \(No space left on device\): free some space"
    assert re.search(wanted, refused(data))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_disk_full_for_standard_output(model: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ddlcn", "info", str(model)]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert re.fullmatch(r"ddlcn: .*\(No space left on device\); check .*\n", ran.stderr)


def test_out_of_memory(refused, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(DDLCNClassifier, "fit", greedy)
    assert "out of memory; use fewer --jobs" in refused(data)


def test_ctrl_c(tmp_path: Path) -> None:
    """On a terminal, in the middle of training: the bars go and one line stays."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "ddlcn", "demo", "-o", str(tmp_path / "m.ddlcn")]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        seen = b""
        while b"Dictionaries" not in seen:
            seen += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        try:
            while True:
                seen += os.read(screen, 4096)
        except OSError:  # Linux's word for the end of a terminal
            os.close(screen)
        assert process.stdout
        assert process.stdout.read() == b""
    assert process.returncode == 2
    assert b"Traceback" not in seen
    assert seen.rstrip().endswith(
        b"ddlcn: interrupted; nothing is half-written, run the command again to start over"
    )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("trian", "No such command 'trian'"),
        ("--loud", "No such option: --loud"),
        ("train", "Missing argument 'DATA'; see ddlcn train --help"),
        ("train data", "Missing option '--output'"),
        ("predict m", "Missing argument 'IMAGES...'"),
        ("train data -o m --jobs 0", "--jobs"),
        ("train data -o m --seed -1", "--seed"),
        ("train data -o m --coder zip", "--coder"),
        ("train data -o m --preset zip", "--preset"),
        ("train data -o m -p some", "got 'some'; give a whole number from 1, or all"),
        ("train data -o m -q 0", "got '0'; give a whole number from 1"),
        ("train data -o m -t 1.5", "got '1.5'; give a whole number from 1, or a fraction"),
        ("train data -o m --deeper-atoms 64;32", "give whole numbers from 1, as in 64,32, or none"),
        ("train data -o m --neighbors none", "give whole numbers from 1, as in 15,10"),
        ("train data -o m --C -1", "give a positive number, or cv"),
        ("train data -o m --beta -1", "--beta"),
        ("train data -o m -t 6", "too few for 6 to train and 1 to test; add images or change"),
        ("train data -o m --layers 0", "got '0'; give a whole number from 1"),
        ("train data -o m --report r", "hold images out for one with --train-per-class"),
        ("train data -o m -t 2 --learning-curve", "say where with --report DIR"),
        ("info nowhere", "'nowhere' does not exist"),
        ("info data/level/0.png", "is no ddlcn model"),
        ("predict nowhere data", "'nowhere' does not exist"),
    ],
)
def test_mistyped(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, typed: str, told: str) -> None:
    monkeypatch.chdir(data.parent)
    assert told in run(*typed.split()).line
    assert [entry.name for entry in data.parent.iterdir()] == ["data"]


def test_strangers(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    """What a model was not trained for."""
    shutil.copytree(data / "level", data / "askew")
    assert "class 'askew' is not one the model knows" in run("evaluate", model, data).line
    (tmp_path / "empty").mkdir()
    assert re.search(
        "no images in .*empty'; name image files", run("predict", model, tmp_path / "empty").line
    )
