"""`explain`, `atoms`, and the learning curve of a report."""

from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import QUICK, Run


def test_explain(run: Run, model: Path, tmp_path: Path) -> None:
    image = next((model.parent / "data" / "level").iterdir())
    shown = run("explain", model, image, "-o", tmp_path / "map.png", "--json").json
    answer, runner_up = shown["classes"]
    assert answer["label"] == "level"
    assert answer["probability"] > runner_up["probability"]
    with Image.open(shown["picture"]) as picture:
        assert picture.width > 1000
    text = run("explain", model, image, "-o", tmp_path / "map.png", "--class", "[red]").out
    assert text.startswith("[red]  ")
    assert f"Wrote {tmp_path / 'map.png'}" in text


def test_atoms(run: Run, model: Path, tmp_path: Path) -> None:
    for name, more in (("a.png", ()), ("b.svg", ("--data", model.parent / "data", "--most", 3))):
        assert f"Wrote {tmp_path / name}" in run("atoms", model, "-o", tmp_path / name, *more).out
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("explain", "{model}", "{image}", "-o", "{out}.png", "--class", "cat"),
            "--class 'cat': the model knows",
        ),
        (("explain", "{model}", "nowhere.png", "-o", "{out}.png"), "'nowhere.png' does not exist"),
        (("explain", "{model}", "{image}", "-o", "{out}.docx"), "can't draw .docx; name a file in"),
        (("explain", "nowhere.ddlcn", "{image}", "-o", "{out}.png"), "'nowhere.ddlcn' does not exist"),
        (("atoms", "{model}", "-o", "{out}.docx"), "can't draw .docx; name a file in"),
        (("atoms", "{model}", "-o", "{out}.png", "--data", "nowhere"), "'nowhere' does not exist"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, model: Path, tmp_path: Path, args: tuple[str, ...], says: str
) -> None:
    image = next((model.parent / "data" / "level").iterdir())
    assert says in run(*(arg.format(model=model, image=image, out=tmp_path / "out") for arg in args)).line
    assert not any(tmp_path.iterdir())


def test_learning_curve(run: Run, data: Path, tmp_path: Path) -> None:
    report = ("--report", tmp_path / "report", "--learning-curve")
    ran = run("train", data, "-o", tmp_path / "m", "-t", 4, *QUICK, *report, "--json")
    assert 'id="curve"' in Path(ran.json["report"]).read_text("utf-8")


def test_a_report_of_evaluate_knows_the_training_images_if_told(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    run("evaluate", model, data, "--report", report, "--json")
    assert "--train-data" in (report / "index.html").read_text("utf-8")  # how to have leaks looked for
    run("evaluate", model, data, "--report", report, "--train-data", model.parent / "data", "--json")
    page = (report / "index.html").read_text("utf-8")
    assert "18 of 18 test images" in page  # the very same pictures
    assert "nearest patch" in page
    assert "say where with --report" in run("evaluate", model, data, "--train-data", data).line
