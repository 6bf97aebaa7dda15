"""`explain` and `atoms`."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ddlcn import DDLCNClassifier
from ddlcn.evidence import Evidence
from tests.cli.conftest import LABELS, Run


@pytest.fixture
def image(model: Path) -> Path:
    return model.parent / "data" / "level" / "0.png"


def test_explain(run: Run, model: Path, image: Path, tmp_path: Path) -> None:
    shown = run("explain", model, image, "-o", tmp_path / "map.png", "--json").json
    predicted, second = shown["classes"]
    assert predicted["label"] == "level"
    assert predicted["probability"] > second["probability"]
    for each in (predicted, second):
        assert each["bias"] + sum(each["channels"].values()) == pytest.approx(each["score"], abs=1e-5)
    with Image.open(shown["picture"]) as picture:
        assert picture.width > 1000


def test_two_classes_are_explained_once(
    run: Run, model: Path, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain, explained = DDLCNClassifier.explain, []

    def counted(self: DDLCNClassifier, image: Any, label: Any = None) -> Evidence:
        explained.append(label)
        return explain(self, image, label)

    monkeypatch.setattr(DDLCNClassifier, "explain", counted)
    shown = run("explain", model, image, "-o", tmp_path / "map.png", "--json").json
    assert explained == [each["label"] for each in shown["classes"]]


def test_explain_a_class(run: Run, model: Path, image: Path, tmp_path: Path) -> None:
    text = run("explain", model, image, "-o", tmp_path / "map.png", "--class", "[red]").out
    assert text.startswith("[red]  ")
    assert " = sift " in text
    assert f"Wrote {tmp_path / 'map.png'}" in text


def test_several_images(run: Run, model: Path, tmp_path: Path) -> None:
    data = model.parent / "data"
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    given = (data / "level" / "0.png", data / "upright" / "0.png", broken)
    ran = run("explain", model, *given, "-o", tmp_path / "out")
    assert "1 of 3 images can't be read: " in ran.err
    assert [line.split()[0] for line in ran.out.splitlines()] == ["level", "upright"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"0-evidence.png", "0 (2)-evidence.png"}
    shown = run("explain", model, *given, "-o", tmp_path / "out", "--json", "--class", "level").json
    assert [each["classes"][0]["label"] for each in shown["explanations"]] == ["level", "level"]
    assert (shown["n_images"], len(shown["unreadable"])) == (3, 1)
    assert "no image could be read" in run("explain", model, broken, "gone.png", "-o", tmp_path / "out").line


def test_folder_of_images(run: Run, model: Path, image: Path, tmp_path: Path) -> None:
    assert run("explain", model, image.parent, "-o", tmp_path / "new" / "out").out.count("level") >= 6
    assert len(list((tmp_path / "new" / "out").iterdir())) == 6
    assert "is not a folder" in run("explain", model, image.parent, "-o", image).line
    assert "Wrote" not in run("explain", model, image, "-o", tmp_path).out  # a folder, for one image too
    assert (tmp_path / "0-evidence.png").exists()


def test_atoms(run: Run, model: Path, tmp_path: Path) -> None:
    for name, more in (("a.png", ()), ("b.svg", ("--data", model.parent / "data", "--most", 3))):
        assert f"Wrote {tmp_path / name}" in run("atoms", model, "-o", tmp_path / name, *more).out
        assert (tmp_path / name).stat().st_size > 1000


def test_atoms_json(run: Run, model: Path, tmp_path: Path) -> None:
    shown = run("atoms", model, "-o", tmp_path / "a.png", "--most", 3, "--json").json
    assert shown["picture"] == str(tmp_path / "a.png")
    (sift,) = shown["channels"]
    assert (sift["name"], sift["n_atoms"]) == ("sift", [6, 4])
    assert len(sift["largest_weights"]) == 3
    assert {each["label"] for each in sift["largest_weights"]} <= set(LABELS)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("explain {model} {image} -o {out}.png --class cat", "--class 'cat': choose from [red], level, upright"),
        ("explain {model} nowhere.png -o {out}.png", "'nowhere.png' does not exist"),
        ("explain {model} {image} -o {out}.docx", "can't draw .docx; name a file in"),
        ("explain nowhere.ddlcn {image} -o {out}.png", "'nowhere.ddlcn' does not exist"),
        ("atoms {model} -o {out}.docx", "can't draw .docx; name a file in"),
        ("atoms {model} -o {out}.png --data nowhere", "'nowhere' does not exist"),
    ],
)
def test_errors(run: Run, model: Path, image: Path, tmp_path: Path, typed: str, told: str) -> None:
    names = {"model": model, "image": image, "out": tmp_path / "out"}
    assert told in run(typed.format(**names)).line
    assert not any(tmp_path.iterdir())
