"""Results on the terminal."""

from pathlib import Path

import numpy as np
import pytest

from ddlcn.cli.results import show
from tests.cli.conftest import LABELS, QUICK, Run

RESULT = dict.fromkeys(("model", "report", "rejection")) | dict.fromkeys(("most_confused", "selection", "skipped"), ())
RESULT |= {"accuracy": 0.5, "interval": (0.4, 0.6), "n_train": 7500, "n_test": 50, "timings": {}, "seconds": 1}


def test_accuracy_and_classes(run: Run, data: Path, tmp_path: Path) -> None:
    ran = run("train", data, "-o", tmp_path / "m", "-t", "0.5", QUICK)
    assert ran.err == ""
    assert "\x1b" not in ran.out
    for shown in ("Accuracy", "95% interval", "trained on 9 images, tested on 9", "recall", "total", *LABELS):
        assert shown in ran.out


def test_no_test(run: Run, data: Path, tmp_path: Path) -> None:
    shown = run("train", data, "-o", tmp_path / "m", QUICK).out
    assert shown.startswith("Trained on 18 images of 3 classes\n")
    assert "--train-per-class" in shown


def test_skipped_images(run: Run, data: Path, tmp_path: Path) -> None:
    for number in range(5):
        (data / "level" / f"broken{number}.png").write_bytes(b"\x89PNG nonsense")
    ran = run("train", data, "-o", tmp_path / "m", QUICK)
    assert ran.code == 0
    assert "Skipped 5 files or folders:" in ran.err
    assert "broken0.png (and 4 more) is damaged" in ran.err
    assert "broken1.png" not in ran.err
    skipped = run("evaluate", tmp_path / "m", data, "--json").json["skipped"]
    assert [Path(image["path"]).name for image in skipped] == [f"broken{number}.png" for number in range(5)]


def test_many_classes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"label": f"c{n}", "recall": n / 30, "n_test": 2} for n in np.random.default_rng(0).permutation(30)]
    show(RESULT | {"per_class": rows, "augmentation": "flip"}, as_json=False)
    shown = capsys.readouterr().out
    assert "trained on 7,500 images (augmentation: flip), tested on 50" in shown
    assert "The 20 classes with the lowest recall" in shown
    assert "c0 " in shown
    assert "c20 " not in shown


def test_calibration_in_json(run: Run, data: Path, tmp_path: Path) -> None:
    tested = run("train", data, "-o", tmp_path / "m", "-t", "0.5", QUICK, "--json").json["calibration"]
    assert 0 <= tested["expected_calibration_error"] <= 1
    assert sum(each["n_images"] for each in tested["bins"]) == tested["thresholds"][0]["n_answered"] == 9
    assert run("evaluate", tmp_path / "m", data, "--json").json["calibration"]["thresholds"][0]["n_answered"] == 18
    assert run("train", data, "-o", tmp_path / "m", QUICK, "--json").json["calibration"] is None
