"""`predict`."""

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from ddlcn import DDLCNClassifier
from ddlcn.cli.predict import Format
from tests.cli.conftest import LABELS, Run, write_images


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def stripes(model: Path) -> Path:
    return model.parent / "data"


def test_csv(run: Run, model: Path, stripes: Path, tmp_path: Path) -> None:
    ran = run("predict", model, stripes, stripes / "level" / "0.png")
    found = rows(ran.out)
    assert (ran.code, ran.err, len(found)) == (0, "", 19)
    assert list(found[0]) == ["path", "label", "probability", "error"]
    paths = [row["path"] for row in found]
    classifier = DDLCNClassifier.load(model)
    assert [row["label"] for row in found] == classifier.predict(paths).tolist()
    expected = classifier.predict_proba(paths).max(axis=1)
    assert run("predict", model, stripes, stripes / "level" / "0.png", "-o", tmp_path / "labels.csv").out == ""
    assert (tmp_path / "labels.csv").read_text() == ran.out
    assert [float(row["probability"]) for row in found] == pytest.approx(expected, abs=1e-6)


def test_json_lines(run: Run, model: Path, stripes: Path) -> None:
    for line in run("predict", model, stripes, "--format", "jsonl", "--top", 9).out.splitlines():
        row = json.loads(line)
        assert {row["label"], row["label_2"], row["label_3"]} == set(LABELS)
        assert row["probability"] >= row["probability_2"] >= row["probability_3"]
        assert row["error"] is None


def test_table(run: Run, model: Path, stripes: Path) -> None:
    lines = run("predict", model, stripes, "--format", "table").out.splitlines()
    assert lines[0].split() == ["path", "label", "probability"]
    assert lines[1].split()[:2] == [str(stripes / "[red]" / "0.png"), "[red]"]
    last = run("predict", model, stripes / "level" / "0.png", "missing.png", "--format", "table").out.splitlines()[-1]
    assert last.split(maxsplit=1) == ["missing.png", "does not exist; check the path"]


def test_table_on_a_terminal(run: Run, model: Path, stripes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are wider than the terminal end between words, and their further lines are indented."""
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.chdir(stripes / "level")
    lines = re.sub(r"\x1b\[[\d;]*m", "", run("predict", model, "0.png", "missing.png").out).splitlines()
    assert [line.rstrip() for line in lines[-2:]] == ["missing.png  does not", "    exist; check the path"]


@pytest.mark.parametrize("form", list(Format))
def test_many_images(run: Run, model: Path, stripes: Path, form: Format) -> None:
    """They are predicted in chunks."""
    if form is Format.json:
        one, eight = (run("predict", model, *[stripes] * n, "--json").json["predictions"] for n in (1, 8))
        assert eight == 8 * one
        return
    lines, many = (run("predict", model, *[stripes] * n, "--format", form).out.splitlines() for n in (1, 8))
    head = 0 if form is Format.jsonl else 1
    assert many == lines[:head] + 8 * lines[head:]


def test_standard_input(run: Run, model: Path, stripes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "".join(f"{path}\n" for path in sorted(stripes.glob("level/*")))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(listed.encode())))
    assert [row["path"] for row in rows(run("predict", model, "-").out)] == listed.split()


def test_broken_images(run: Run, model: Path, stripes: Path, tmp_path: Path) -> None:
    broken = tmp_path / os.fsdecode(b"caf\xe9\x1b[31m.png")  # neither Unicode nor harmless
    broken.write_bytes(b"")
    for form in ("csv", "jsonl", "table"):
        ran = run("predict", model, stripes / "level" / "0.png", broken, "missing.png", "--format", form)
        assert ran.code == 0
        assert "is empty" in ran.out
        assert "does not exist" in ran.out
        assert ran.err == "2 of 3 images can't be read\n"
        assert form == "csv" or "\x1b" not in ran.out
    ran = run("predict", model, stripes, "missing.png", "--strict", "-o", tmp_path / "labels.csv")
    assert "'missing.png' does not exist; check the path" in ran.line
    assert not (tmp_path / "labels.csv").exists()


def test_no_readable_image(run: Run, model: Path, tmp_path: Path) -> None:
    """Exit code 2; the output still has the reasons."""
    ran = run("predict", model, "*.png", "gone.png")
    assert (ran.code, [row["path"] for row in rows(ran.out)]) == (2, ["*.png", "gone.png"])
    assert ran.err == "ddlcn: no image could be read; '*.png' does not exist; check the path\n"
    assert "no images in" in run("predict", model, tmp_path).line


def test_json(run: Run, model: Path, stripes: Path) -> None:
    shown = run("predict", model, stripes / "level" / "0.png", "gone.png", "--json").json
    assert (shown["n_images"], shown["n_unreadable"]) == (2, 1)
    assert [row["label"] for row in shown["predictions"]] == ["level", None]
    assert "give one of them" in run("predict", model, stripes, "--json", "--format", "csv").line


def test_format_by_suffix(run: Run, model: Path, stripes: Path, tmp_path: Path) -> None:
    for suffix, start in ((".jsonl", '{"path":'), (".JSON", '{\n  "n_images":'), (".csv", "path,"), (".txt", "path,")):
        ran = run("predict", model, stripes, "-o", tmp_path / f"out{suffix}")
        assert (ran.out, ran.err) == ("", f"Wrote {tmp_path / f'out{suffix}'}\n")
        assert (tmp_path / f"out{suffix}").read_text().startswith(start)
    run("predict", model, stripes, "-o", tmp_path / "out.jsonl", "--format", "csv")  # the option counts more
    assert (tmp_path / "out.jsonl").read_text().startswith("path,")


def test_probabilities(run: Run, model: Path, stripes: Path) -> None:
    image = stripes / "level" / "0.png"
    (good, bad) = rows(run("predict", model, image, "gone.png", "--probabilities").out)
    expected = DDLCNClassifier.load(model).predict_proba([image])[0]
    assert [name for name in good if name.startswith("P(")] == [f"P({label})" for label in LABELS]
    assert [float(good[f"P({label})"]) for label in LABELS] == pytest.approx(expected, abs=1e-6)
    assert {bad[f"P({label})"] for label in LABELS} == {""}
    shown = run("predict", model, image, "--probabilities", "--json").json["predictions"][0]
    assert list(shown["probabilities"]) == list(LABELS)
    assert sum(shown["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert "P(level)" in run("predict", model, image, "--probabilities", "--format", "table").out


@pytest.mark.parametrize("link", ["", "--link"])
def test_sort_into(run: Run, model: Path, stripes: Path, tmp_path: Path, link: str) -> None:
    (tmp_path / "broken.png").write_bytes(b"no image")
    typed = ("predict", model, stripes, tmp_path / "broken.png", "--sort-into", tmp_path / "out", link)
    ran = run(*typed)
    assert f"{'Linked' if link else 'Copied'} 18 images into {tmp_path / 'out'}: [red] 6, level 6, upright 6" in ran.err
    for row in rows(ran.out)[:-1]:
        assert Path(row["sorted_to"]).parent == tmp_path / "out" / row["label"]
        assert Path(row["sorted_to"]).is_symlink() == bool(link)
        assert Path(row["sorted_to"]).read_bytes() == Path(row["path"]).read_bytes()
    assert rows(ran.out)[-1]["sorted_to"] == ""
    before = sorted((tmp_path / "out").rglob("*"))
    assert len(before) == 3 + 18
    assert "18 images into" in (again := run(*typed)).err
    assert "(18 of them were there already)" in again.err
    assert sorted((tmp_path / "out").rglob("*")) == before  # nothing twice


def test_sort_into_errors(run: Run, model: Path, stripes: Path) -> None:
    assert "name its folder with --sort-into DIR" in run("predict", model, stripes, "--link").line
    assert "name a folder outside of it" in run("predict", model, stripes, "--sort-into", stripes / "x").line
    assert not (stripes / "x").exists()
    assert "is not a folder" in run("predict", model, stripes, "--sort-into", model).line


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A model whose labels are a formula and a terminal escape."""
    data = write_images(tmp_path / "data", labels=("=cmd", "\x1b[31m"))
    images = sorted(data.rglob("*.png"))
    model = DDLCNClassifier("paper", atoms_per_class=2, deeper_atoms=(), n_jobs=1)
    model.fit(images, [path.parent.name for path in images]).save(tmp_path / "hostile.ddlcn")
    return tmp_path / "hostile.ddlcn"


def test_csv_on_a_terminal(run: Run, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ("predict", hostile, hostile.parent / "data", "--format", "csv")
    assert "\x1b" in run(*typed).out  # exact in a file or a pipe
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    shown = run(*typed).out
    assert "\x1b" not in shown
    assert ",\\x1b[31m," in shown


def test_safe_csv(run: Run, hostile: Path) -> None:
    typed = ("predict", hostile, hostile.parent / "data")
    assert {row["label"] for row in rows(run(*typed).out)} == {"=cmd", "\x1b[31m"}
    assert {row["label"] for row in rows(run(*typed, "--safe-csv").out)} == {"'=cmd", "\x1b[31m"}
