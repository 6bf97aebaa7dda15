"""`predict` and `info`."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddlcn import DDLCNClassifier
from ddlcn.cli import predict as command
from ddlcn.model_file import FORMAT
from tests.cli.conftest import LABELS, Run


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def stripes(model: Path) -> Path:
    return model.parent / "data"


def test_folders_and_files_as_csv(run: Run, model: Path, stripes: Path) -> None:
    ran = run("predict", model, stripes, stripes / "level" / "0.png")
    found = rows(ran.out)
    assert (ran.code, ran.err, len(found)) == (0, "", 19)
    assert list(found[0]) == ["path", "label", "probability", "error"]
    paths = [row["path"] for row in found]
    judge = DDLCNClassifier.load(model)
    assert [row["label"] for row in found] == judge.predict(paths).tolist()
    expected = judge.predict_proba(paths).max(axis=1)
    assert [float(row["probability"]) for row in found] == pytest.approx(expected, abs=1e-6)


def test_json_lines_with_the_likeliest(run: Run, model: Path, stripes: Path) -> None:
    found = [
        json.loads(line)
        for line in run("predict", model, stripes, "--format", "jsonl", "--top", 9).out.splitlines()
    ]
    for row in found:
        assert {row["label"], row["label_2"], row["label_3"]} == set(LABELS)
        assert row["probability"] >= row["probability_2"] >= row["probability_3"]
        assert row["error"] is None


def test_a_table_prints_names_as_they_are(run: Run, model: Path, stripes: Path) -> None:
    lines = run("predict", model, stripes, "--format", "table").out.splitlines()
    assert lines[0].split() == ["path", "label", "probability"]
    assert lines[1].split()[:2] == [str(stripes / "[red]" / "0.png"), "[red]"]


def test_chunks_make_one_whole(run: Run, model: Path, stripes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def words() -> list[list[str]]:  # a table's columns may grow
        return [run("predict", model, stripes, "--format", form).out.split() for form in command.Format]

    whole = words()
    monkeypatch.setattr(command, "_IMAGES_AT_ONCE", 4)
    assert words() == whole


def test_a_list_on_standard_input(model: Path, stripes: Path) -> None:
    listed = "".join(f"{path}\n" for path in sorted(stripes.glob("level/*")))
    ran = subprocess.run(
        [sys.executable, "-m", "ddlcn", "predict", str(model), "-"],
        input=listed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [row["path"] for row in rows(ran.stdout)] == listed.split()


def test_to_a_file(run: Run, model: Path, stripes: Path, tmp_path: Path) -> None:
    ran = run("predict", model, stripes, "-o", tmp_path / "answers.csv")
    assert (ran.code, ran.out) == (0, "")
    assert len(rows((tmp_path / "answers.csv").read_text())) == 18


def test_broken_images_have_their_reason(run: Run, model: Path, stripes: Path, tmp_path: Path) -> None:
    strange = tmp_path / os.fsdecode(b"caf\xe9\x1b[31m.png")  # neither Unicode nor harmless
    strange.write_bytes(b"")
    for form in ("csv", "jsonl", "table"):
        ran = run("predict", model, stripes / "level" / "0.png", strange, "missing.png", "--format", form)
        assert ran.code == 0
        assert "is empty" in ran.out
        assert "does not exist" in ran.out
        assert ran.err == "2 of 3 images can't be read\n"
        assert form == "csv" or "\x1b" not in ran.out
    ran = run("predict", model, stripes, "missing.png", "--strict", "-o", tmp_path / "answers.csv")
    assert "'missing.png' does not exist; check the path" in ran.line
    assert not (tmp_path / "answers.csv").exists()
    assert run("predict", model, strange).code == 0  # nothing but broken images


def test_info(run: Run, model: Path) -> None:
    facts = run("info", model, "--json").json
    assert facts["classes"] == list(LABELS)
    assert [layer["atoms"] for layer in facts["layers"]] == [6, 4]
    assert (facts["n_train"], facts["bytes"], facts["format"]) == (18, model.stat().st_size, FORMAT)
    assert facts["settings"]["preset"] == "paper"
    shown = " ".join(run("info", model).out.split())  # lines are folded
    for word in (*LABELS, "layer 2", "atoms 4", f"format {FORMAT}", "18 images"):
        assert word in shown
