"""Unknown images and prediction sets of `predict`."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier
from tests.cli.conftest import LABELS, Run, write_images
from tests.helpers import ROOT

REJECT = "--reject --false-alarms 0.1"
UNLIKE = r"unlike the training images: channel sift has (more|fewer) active codes than they usually have"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Images of the classes that did not train the model, and a blank one."""
    folder = write_images(tmp_path / "new", 9)
    for path in folder.glob("*/[0-5].png"):
        path.unlink()
    Image.fromarray(np.zeros((24, 24), np.uint8)).save(folder / "blank.png")
    return folder


def test_reject(run: Run, model: Path, new: Path) -> None:
    plain, found = (rows(run("predict", model, new, more).out) for more in ("", REJECT))
    unknown = DDLCNClassifier.load(model).is_unknown([row["path"] for row in found], false_alarms=0.1)
    assert list(found[0]) == ["path", "label", "probability", "reason", "error"]
    assert 0 < unknown.sum() < len(found)
    for row, before, rejected in zip(found, plain, unknown, strict=True):
        assert row["label"] == ("unknown" if rejected else before["label"])
        assert row["reason"].startswith("unlike the training images: ") == rejected
        assert bool(row["reason"]) == rejected
        assert row["probability"] == before["probability"]  # of the best class
    [blank] = [row for row in found if "blank" in row["path"]]
    assert re.fullmatch(UNLIKE, blank["reason"])
    shown = run("predict", model, new, REJECT, "--json").json
    assert (shown["n_images"], shown["n_rejected"]) == (10, unknown.sum())
    assert [row["reason"] for row in shown["predictions"]] == [row["reason"] or None for row in found]
    assert run("predict", model, new, "--json").json["n_rejected"] == 0


def test_min_probability(run: Run, model: Path, new: Path) -> None:
    plain = [float(row["probability"]) for row in rows(run("predict", model, new).out)]
    limit = round(float(np.median(plain)), 3)
    found = rows(run("predict", model, new, "--min-probability", limit, "--unknown-label", "none").out)
    assert [row["label"] == "none" for row in found] == [each < limit for each in plain]
    assert {row["reason"] for row in found} == {"", f"probability below {limit:g}"}
    both = rows(run("predict", model, new, REJECT, "--min-probability 0.9999").out)
    assert any(re.fullmatch(f"{UNLIKE}; probability below 0.9999", row["reason"]) for row in both)


@pytest.mark.parametrize("conditional", [False, True])
def test_coverage(run: Run, model: Path, new: Path, conditional: bool) -> None:
    more = ("--coverage 0.75", "--class-conditional" if conditional else "")
    found = run("predict", model, new, "gone.png", *more, "--json").json["predictions"]
    expected = DDLCNClassifier.load(model).predict_set([row["path"] for row in found[:-1]], 0.75, conditional)
    assert [set(row["labels"]) for row in found[:-1]] == [set(np.array(LABELS)[row]) for row in expected]
    assert expected.any()
    assert all(row["labels"][0] == row["label"] for row in found[:-1] if row["labels"])  # the most likely first
    assert found[-1]["labels"] is None
    text = rows(run("predict", model, new, "gone.png", *more).out)
    assert [row["labels"] for row in text] == [" | ".join(row["labels"] or []) for row in found]
    wide = run("predict", model, new, "--coverage 0.9 --format table").out
    assert wide.splitlines()[0].split() == ["path", "label", "probability", "labels"]


def test_default_false_alarms_of_few_images(run: Run, model: Path, new: Path) -> None:
    done = run("predict", model, new, "--reject")
    assert "False alarms: about 7.7%, as 12 held-out training images allow no fewer" in done.err
    assert done.out == run("predict", model, new, "--reject --false-alarms 0.07693").out


def test_sort_into(run: Run, model: Path, new: Path, tmp_path: Path) -> None:
    into = ("--sort-into", tmp_path / "sorted", "--unknown-label", "not_known")
    found = rows(run("predict", model, new, REJECT, *into).out)
    assert {row["label"] for row in found} >= {"not_known", "level"}
    assert all(Path(row["sorted_to"]).parent.name == row["label"] for row in found)
    assert (tmp_path / "sorted" / "not_known" / "blank.png").exists()


def test_errors_before_images_are_read(run: Run, model: Path) -> None:
    for options, line in (
        (
            "--reject --false-alarms 0.05",
            "false_alarms=0.05 needs 19 held-out training images in all, and this model has 12: train on",
        ),
        ("--coverage 0.99", "coverage=0.99 needs 99 held-out training images in all"),
        ("--coverage 0.9 --class-conditional", "coverage=0.9 needs 9 held-out training images in every class"),
        ("--false-alarms 0.1", "--false-alarms is about --reject; add --reject"),
        ("--class-conditional", "--class-conditional is about --coverage; add --coverage X"),
        (
            f"{REJECT} --unknown-label level",
            "'level' is a class of this model; name another label with --unknown-label",
        ),
        ("--min-probability 0.5 --unknown-label level", "'level' is a class of this model"),
        ("--coverage 95", "'--coverage': got '95'; give a number between 0 and 1"),
    ):
        assert line in run("predict", model, "gone.png", options).line


def test_model_without_calibration(run: Run) -> None:
    golden = ROOT / "tests" / "persistence" / "golden" / "format3.ddlcn"
    for options in ("--reject", "--coverage 0.9"):
        assert "this model has no calibration" in run("predict", golden, "gone.png", options).line
    assert "no image could be read" in run("predict", golden, "gone.png", "--min-probability 0.5").err
