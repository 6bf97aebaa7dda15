"""Options that are mistyped end in one line that says what to give."""

import os
from pathlib import Path

import pytest

from ddlcn import DDLCNClassifier
from ddlcn.cli import options
from ddlcn.preprocessing.augmentation import POLICIES
from ddlcn.presets import PRESETS
from tests.cli.conftest import QUICK, Run

BAD_VALUES = ("--jobs 0", "--seed -1", "--coder zip", "--preset zip", "--deskew cv", "--beta -1")
BAD_VALUES += ("--augmentation bent", "--class-weight some")
BAD_CHANNELS = ("sift,", "sift,sift", "sift=", "sift=0", "sift=nan", "sift=inf", "=1")


def test_choices_are_the_packages() -> None:
    assert set(options.Preset) == set(PRESETS)
    assert set(options.Augmentation) == {*POLICIES, "auto"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("trian", "No such command 'trian'"),
        ("--loud", "No such option: --loud"),
        ("train", "Missing argument 'DATA'; see ddlcn train --help"),
        ("train data", "Missing option '--output'"),
        ("predict m", "Missing argument 'IMAGES'"),
        *((f"train data -o m {option}", option.split()[0]) for option in BAD_VALUES),
        ("train data -o m --images-per-class some", "got 'some'; give a whole number from 1, all or auto"),
        ("train data -o m --atoms-per-class 0", "got '0'; give a whole number from 1, or auto"),
        ("train data -o m -t 1.5", "got '1.5'; give a whole number from 1, or a fraction"),
        ("train data -o m --deeper-atoms 64;32", "give whole numbers from 1, as in 64,32, or none"),
        ("train data -o m --neighbors none", "give one or two whole numbers from 1, as in 15,10"),
        ("train data -o m --neighbors 3,2,1", "give one or two whole numbers from 1, as in 15,10"),
        ("train data -o m --C cv", "got 'cv'; give a positive number, or auto"),
        *((f"train data -o m --channels {text}", f"got '{text}'; give names with or without") for text in BAD_CHANNELS),
        ("train data -o m --channels edges", "preset best has no channel 'edges'; choose from sift, sift_grid, color"),
        ("train data -o m --channels sift_grid", "uses the dictionaries of 'sift': add that channel"),
        ("train data -o m --beta 1 --coder llc", "--beta is a parameter of the exact coder"),
        ("train data -o m -t 6", "too few for 6 to train and 1 to test; add images or change"),
        ("train data -o m --layers 0", "got '0'; give a whole number from 1"),
        ("train data -o m --report r", "hold images out for it with --train-per-class"),
        ("train data -o m -t 2 --learning-curve", "name its folder with --report DIR"),
        ("train nowhere -o m", "'nowhere' does not exist; check the path"),
        ("info nowhere", "'nowhere' does not exist"),
        ("info data/level/0.png", "is no ddlcn model"),
        ("predict nowhere data", "'nowhere' does not exist"),
    ],
)
def test_mistyped(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, typed: str, told: str) -> None:
    monkeypatch.chdir(data.parent)
    assert told in run(typed).line
    assert [entry.name for entry in data.parent.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere/m", "No such file or directory"),
        ("data", "it is a folder"),
        ("data/level/0.png/m", "Not a directory"),
        ("pipe", "it is no regular file"),
        pytest.param("locked/m", "Permission denied", marks=pytest.mark.skipif(os.getuid() == 0, reason="root")),
    ],
)
def test_output_not_writable(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    monkeypatch.setattr(DDLCNClassifier, "fit", lambda *_: pytest.fail("trained before the check"))
    (tmp_path / "locked").mkdir(mode=0o500)
    os.mkfifo(tmp_path / "pipe")
    line = run("train", data, "-o", tmp_path / place, QUICK).line
    assert f"can't write {str(tmp_path / place)!r}" in line
    assert reason in line


def test_report_folder_not_writable(run: Run, model: Path, tmp_path: Path) -> None:
    line = run("evaluate", model, model.parent / "data", "--report", model / "report").line
    assert "is not a folder that can be written to; name another" in line
