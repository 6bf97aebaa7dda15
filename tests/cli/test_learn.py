"""`demo`, `train`, `evaluate`: one JSON object each, and something to look at."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier
from ddlcn.cli.options import Coder, Preset
from ddlcn.presets import PRESETS
from tests.cli.conftest import LABELS, QUICK, Run, write_images


def test_train_then_evaluate(run: Run, data: Path, tmp_path: Path) -> None:
    model = tmp_path / "stripes.ddlcn"
    trained = run("train", data, "-o", model, "-t", 4, *QUICK, "--json").json
    assert (trained["n_train"], trained["n_test"], trained["model"]) == (12, 6, str(model))
    assert trained["accuracy"] > 0.9
    assert trained["interval"][0] < trained["accuracy"] <= trained["interval"][1] + 1e-9
    assert set(trained["timings"]) == {"reading", "dictionaries", "coding", "copies", "svm", "testing"}
    assert trained["seconds"] > sum(trained["timings"].values())
    assert trained["classes"] == list(LABELS)
    assert [row["n_test"] for row in trained["per_class"]] == [2, 2, 2]
    assert trained["skipped"] == []

    tested = run("evaluate", model, data, "--json").json
    assert (tested["n_train"], tested["n_test"], tested["classes"]) == (12, 18, list(LABELS))
    assert tested["accuracy"] > 0.9
    assert tested["seconds"] > tested["timings"]["testing"]
    assert set(tested) == set(trained)


def test_all_images_train_unless_said(run: Run, data: Path, tmp_path: Path) -> None:
    trained = run("train", data, "-o", tmp_path / "m", *QUICK, "--json").json
    assert (trained["accuracy"], trained["n_train"], trained["n_test"]) == (None, 18, 0)
    assert "--train-per-class" in run("train", data, "-o", tmp_path / "m", *QUICK).out


def test_what_a_person_sees(run: Run, data: Path, tmp_path: Path) -> None:
    ran = run("train", data, "-o", tmp_path / "m", "-t", "0.5", *QUICK)
    assert ran.err == ""
    assert "\x1b" not in ran.out
    for shown in ("Accuracy", "95% interval", "trained on 9 images, tested on 9", "dictionaries", *LABELS):
        assert shown in ran.out


def test_same_seed_same_model(run: Run, data: Path, tmp_path: Path) -> None:
    def scores(seed: int, jobs: int) -> np.ndarray:
        run("train", data, "-o", tmp_path / "m", *QUICK, "--seed", seed, "-j", jobs)
        return DDLCNClassifier.load(tmp_path / "m").decision_function([data / "level" / "0.png"])

    np.testing.assert_array_equal(scores(1, 1), scores(1, 2))
    assert not np.array_equal(scores(1, 1), scores(2, 1))


def test_defaults_are_the_classifiers(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("train", data, "-o", tmp_path / "m").code == 0
    assert DDLCNClassifier.load(tmp_path / "m").get_params() == DDLCNClassifier().get_params()
    assert set(Preset) == set(PRESETS)
    assert {str(coder) for coder in Coder} == {"exact", "llc"}


def test_every_setting_arrives(run: Run, data: Path, tmp_path: Path) -> None:
    settings = ("-p", "all", "-q", "3", "--deeper-atoms", "none", "--neighbors", "4", "--coder", "llc")
    more = ("--beta", "0.1", "--C", "2", "--seed", "5", "--preset", "paper", "--copies", "bent")
    assert run("train", data, "-o", tmp_path / "m", *settings, *more).code == 0
    params = DDLCNClassifier.load(tmp_path / "m").get_params()
    expected = {"images_per_class": None, "atoms_per_class": 3, "deeper_atoms": (), "neighbors": (4,)}
    expected |= {"coder": "llc", "beta": 0.1, "C": 2.0, "random_state": 5, "preset": "paper"}
    expected |= {"copies": "bent"}
    assert expected.items() <= params.items()


def test_figures_stand_upright_if_told(run: Run, tmp_path: Path) -> None:
    data = write_images(tmp_path / "data")
    for path in data.glob("*/*.png"):
        Image.fromarray(np.pad(np.asarray(Image.open(path)), 4)).save(path)  # plain ground
    for told, upright in (("yes", True), ("no", False), ("cv", "cv")):
        ran = run("train", data, "-o", tmp_path / "m", *QUICK, "--upright", told, "--json").json
        assert DDLCNClassifier.load(tmp_path / "m").upright == upright
        facts = run("info", tmp_path / "m", "--json").json
        assert facts["upright"] is ran["upright"]
        assert told == "cv" or ran["upright"] is upright
        figures = "stand upright" if ran["upright"] else "as they are"
        assert f"figures {figures}" in " ".join(run("info", tmp_path / "m").out.split())
    assert "give yes, no or cv" in run("train", data, "-o", tmp_path / "m", "--upright", "maybe").line


def test_the_hardest_of_very_many_are_told(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    known = run("evaluate", model, data, "--json").json
    assert (known["picked_from"], known["upright"]) == (None, False)
    picky = DDLCNClassifier.load(model)
    picky.n_train_, picky.picked_from_, picky.copies_ = 7500, 60_000, "bent"
    picky.save(tmp_path / "m")
    told = "hardest 7,500 of 60,000 images, copies: bent"
    assert f"trained on {told}, tested on 18" in run("evaluate", tmp_path / "m", data).out
    assert told in " ".join(run("info", tmp_path / "m").out.split())
    for command in (("info", tmp_path / "m"), ("evaluate", tmp_path / "m", data)):
        assert run(*command, "--json").json["picked_from"] == 60_000
    run("evaluate", tmp_path / "m", data, "--report", tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "hardest 7,500 of 60,000 and bent copies" in page


def test_layers_are_short_for_deeper_atoms(run: Run, data: Path, tmp_path: Path) -> None:
    for layers, atoms in ((1, ()), (3, (64, 64))):
        assert run("train", data, "-o", tmp_path / "m", "-q", "2", "--layers", layers).code == 0
        assert DDLCNClassifier.load(tmp_path / "m").deeper_atoms == atoms


def test_broken_images_are_told(run: Run, data: Path, tmp_path: Path) -> None:
    for number in range(5):
        (data / "level" / f"broken{number}.png").write_bytes(b"\x89PNG nonsense")
    ran = run("train", data, "-o", tmp_path / "m", *QUICK)
    assert ran.code == 0
    assert "Skipped 5 broken" in ran.err
    assert "broken2.png" in ran.err
    assert "broken3.png" not in ran.err
    assert "and 2 more" in ran.err
    skipped = run("evaluate", tmp_path / "m", data, "--json").json["skipped"]
    assert [Path(image["path"]).name for image in skipped] == [f"broken{number}.png" for number in range(5)]


def test_numbers_for_labels(run: Run, tmp_path: Path) -> None:
    data = write_images(tmp_path / "data", labels=("10", "9"))
    paths = sorted(data.glob("*/*.png"))
    quick = DDLCNClassifier(2, 2, (4,), (3, 2), preset="paper")
    quick.fit(paths, [int(path.parent.name) for path in paths]).save(tmp_path / "m")
    assert run("evaluate", tmp_path / "m", data, "--json").json["classes"] == [9, 10]


def test_parts(run: Run, tmp_path: Path) -> None:
    images = np.stack([np.asarray(Image.open(p)) for p in sorted(write_images(tmp_path / "d").glob("*/*"))])
    labels = np.repeat(LABELS, 6)
    np.savez(tmp_path / "two.npz", x_train=images, y_train=labels, x_test=images[::2], y_test=labels[::2])
    np.savez(tmp_path / "one.npz", images=images, labels=labels)
    assert run("train", tmp_path / "two.npz", "-o", tmp_path / "m", *QUICK, "--json").json["n_train"] == 18
    assert run("evaluate", tmp_path / "m", tmp_path / "two.npz", "--json").json["n_test"] == 9
    assert (
        run("evaluate", tmp_path / "m", tmp_path / "two.npz", "--part", "train", "--json").json["n_test"]
        == 18
    )
    assert run("evaluate", tmp_path / "m", tmp_path / "one.npz", "--json").json["n_test"] == 18


def test_report(run: Run, data: Path, tmp_path: Path) -> None:
    ran = run("train", data, "-o", tmp_path / "m", "-t", 4, *QUICK, "--report", tmp_path / "report", "--json")
    page = Path(ran.json["report"])
    assert page == tmp_path / "report" / "index.html"
    assert "<html" in page.read_text("utf-8")
    assert "--train-per-class" in run("train", data, "-o", tmp_path / "n", "--report", tmp_path / "r").line
    assert "another" in run("evaluate", tmp_path / "m", data, "--report", tmp_path / "m" / "r").line


@pytest.mark.slow
def test_demo(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("demo", "-o", tmp_path / "digits.ddlcn", "--json").json
    assert shown["accuracy"] >= 0.99
    assert shown["n_train"] + shown["n_test"] == 1797
    assert shown["seconds"] < 90
    assert run("info", tmp_path / "digits.ddlcn").code == 0
    assert (tmp_path / "ddlcn-report" / "index.html").is_file()
