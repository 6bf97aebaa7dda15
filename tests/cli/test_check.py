"""`ddlcn check`."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.conftest import Run, write_images


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Striped images: one in the folder of another class, one copied, one blank, one broken."""
    data = write_images(tmp_path / "planted", 6, ("level", "upright"))
    shutil.move(data / "upright" / "0.png", data / "level" / "moved.png")
    shutil.copy(data / "level" / "2.png", data / "level" / "copy.png")
    Image.new("L", (24, 24), 255).save(data / "upright" / "blank.png")
    (data / "upright" / "broken.png").write_bytes(b"no image")
    return data


def test_csv_and_json(run: Run, planted: Path, tmp_path: Path) -> None:
    before = sorted(planted.rglob("*"))
    found = run("check", planted, "-o", tmp_path / "i.csv", "--report", tmp_path / "page", "--folds 3 --json").json
    assert sorted(planted.rglob("*")) == before
    with open(tmp_path / "i.csv", newline="") as file:
        rows = {Path(row["path"]).name: row for row in csv.DictReader(file)}
    assert len(rows) == found["n_images"] - 5 == 9  # both classes have files 1.png to 5.png
    moved = rows["moved.png"]
    assert (moved["label"], moved["suggested_label"], moved["is_mislabelled"]) == ("level", "upright", "true")
    assert (rows["copy.png"]["is_duplicate"], rows["copy.png"]["duplicate_group"]) == ("true", "1")
    assert (rows["blank.png"]["is_blank"], rows["moved.png"]["is_blank"]) == ("true", "false")
    assert found["images"][0].keys() == moved.keys()
    assert {group["is_exact"] for group in found["duplicates"]} == {True}
    assert [Path(each["path"]).name for each in found["skipped"]] == ["broken.png"]
    assert "moved.png" in Path(found["report"]).read_text("utf-8")
    assert found["output"] == str(tmp_path / "i.csv")


def test_text(run: Run, planted: Path) -> None:
    ran = run("check", planted, "--folds 3")
    assert ran.code == 0
    assert ran.err.startswith(f"Skipped 1 file or folder:\n  {planted / 'upright' / 'broken.png'} is no image")
    assert ran.out.startswith("14 images of 2 classes")
    for shown in (
        "likely mislabelled",
        "2 in 1 group, 0 with different labels",
        "skipped                 1",
        "-o issues.csv",
    ):
        assert shown in ran.out
    assert f"{planted / 'level' / 'moved.png'}: label level, rather upright" in ran.out


def test_too_few_images(run: Run, tmp_path: Path) -> None:
    data = write_images(tmp_path / "data", 1)
    ran = run("check", data)
    assert "not checked" in ran.out
    assert "at least two classes need two different images each" in ran.out
    assert run("check", data, "--json").json["held_out_accuracy"] is None


def test_arrays(run: Run, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (6, 16, 16), np.uint8)
    np.savez(tmp_path / "a.npz", images=images[[0, 1, 2, 3, 0]], labels=["a", "b", "a", "b", "b"])
    found = run("check", tmp_path / "a.npz", "--folds 2 --json").json
    source = tmp_path / "a.npz"
    assert found["duplicates"][0]["paths"] == [f"{source}[0]", f"{source}[4]"]
    assert found["duplicates"][0]["labels_differ"]


def test_errors(run: Run, data: Path, tmp_path: Path) -> None:
    assert "--output is a CSV file; end its name in .csv" in run("check", data, "-o", tmp_path / "a.json").line
    (tmp_path / "index.html").write_text("mine")
    assert "is no report of ddlcn" in run("check", data, "--report", tmp_path).line
    assert "does not exist" in run("check", tmp_path / "nowhere").line


def test_safe_csv(run: Run, tmp_path: Path) -> None:
    data = write_images(tmp_path / "data", 1, ("=1+1", "b"))
    for option, label in (("", "=1+1"), ("--safe-csv", "'=1+1")):
        assert run("check", data, "-o", tmp_path / "i.csv", option).code == 0
        with open(tmp_path / "i.csv", newline="") as file:
            assert next(csv.DictReader(file))["label"] == label


def test_work_folder(run: Run, planted: Path, tmp_path: Path) -> None:
    """Finished work is kept, and not done again."""

    def entries() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("*.safetensors")}

    first = run("check", planted, "--folds 2 --json --work", tmp_path / "w").json
    before = entries()
    again = run("check", planted, "--folds 2 --json --work", tmp_path / "w").json
    assert again["images"] == first["images"]
    assert before.keys() == entries().keys()
    written = {name for name, time in entries().items() if time != before[name]}
    assert all(name.startswith("training-") for name in written)  # what `extend` needs
