"""`demo`, `train`, `extend`, `evaluate`."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier, load_images
from ddlcn.description import selection_sentences
from tests.cli.conftest import LABELS, QUICK, Run, write_images
from tests.helpers import ROOT


def test_train_then_evaluate(run: Run, data: Path, tmp_path: Path) -> None:
    model = tmp_path / "stripes.ddlcn"
    trained = run("train", data, "-o", model, "-t", 4, QUICK, "--json").json
    assert (trained["n_train"], trained["n_test"], trained["model"]) == (12, 6, str(model))
    assert trained["accuracy"] > 0.9
    assert trained["interval"][0] < trained["accuracy"] <= trained["interval"][1] + 1e-9
    assert {"reading", "dictionaries", "encoding", "svm", "testing"} <= set(trained["timings"])
    assert trained["seconds"] == pytest.approx(sum(trained["timings"].values()))
    assert [row["n_test"] for row in trained["per_class"]] == [2, 2, 2]
    assert trained["skipped"] == []

    tested = run("evaluate", model, data, "--json").json
    assert (tested["n_train"], tested["n_test"], tested["classes"]) == (12, 18, list(LABELS))
    assert tested["accuracy"] > 0.9
    assert tested["seconds"] == pytest.approx(sum(tested["timings"].values()))
    assert set(tested) == set(trained)


def test_photos_that_cannot_be_read(run: Run, data: Path, tmp_path: Path) -> None:
    for number in range(9):
        (data / "level" / f"{number}.heic").write_bytes(b"no image")
    (data / "__MACOSX").mkdir()
    ran = run("train", data, "-o", tmp_path / "m", QUICK)
    assert "Trained on 18 images" in ran.out
    assert "Skipped 10 " in ran.err
    assert "0.heic (and 8 more) is no image of a known kind; replace it by a PNG, JPEG" in ran.err
    assert "pip install 'ddlcn[heic]'" in run("train", data, "-o", tmp_path / "m", QUICK, "--strict").line


def test_class_of_one_image(run: Run, data: Path, tmp_path: Path) -> None:
    """It trains; only a test needs a second image."""
    for path in sorted((data / "level").iterdir())[1:]:
        path.unlink()
    ran = run("train", data, "-o", tmp_path / "m", QUICK, "--json")
    assert (ran.json["n_train"], ran.json["classes"]) == (13, list(LABELS))
    assert "Only one image of 'level'" in ran.err
    tested = run("train", data, "-o", tmp_path / "n", "-t 1", QUICK)
    assert "class 'level' has 1 usable image(s), 2 needed" in tested.line
    assert "Only one image" not in run("train", write_images(tmp_path / "all"), "-o", tmp_path / "m", QUICK).err


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_one_image_per_class(run: Run, tmp_path: Path, preset: str) -> None:
    ran = run("train", write_images(tmp_path / "data", 1), "-o", tmp_path / "m", "--preset", preset)
    assert "Trained on 3 images of 3 classes" in ran.out
    assert "Only one image of '[red]', 'level', 'upright'" in " ".join(ran.err.split())


def test_page_of_someone_else(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    """It is seen before any work is done."""
    (tmp_path / "index.html").write_text("my home page")
    wanted = "index.html' is no report of ddlcn; name another folder, or remove the file"
    assert wanted in run("train", data, "-o", tmp_path / "m", "-t 4", "--report", tmp_path, QUICK).line
    assert not (tmp_path / "m").exists()
    assert wanted in run("evaluate", model, data, "--report", tmp_path).line
    assert wanted in run("demo", "--report", tmp_path).line


def test_same_seed_same_model(run: Run, data: Path, tmp_path: Path) -> None:
    def content(seed: int, jobs: int) -> bytes:
        run("train", data, "-o", tmp_path / "m", QUICK, "--seed", seed, "-j", jobs)
        return (tmp_path / "m").read_bytes()

    assert content(1, 1) == content(1, 2) != content(2, 1)


@pytest.mark.parametrize("split", ["", "-t 4"])
def test_order_of_a_manifest(run: Run, data: Path, tmp_path: Path, split: str) -> None:
    """It changes neither the model nor which images are for testing."""
    lines = [f"{path},{path.parent.name}\n" for path in sorted(data.rglob("*.png"))]
    orders = [np.arange(len(lines)), np.random.default_rng(0).permutation(len(lines))]
    for number, order in enumerate(orders):
        (tmp_path / f"{number}.csv").write_text("".join(lines[each] for each in order))
        run("train", tmp_path / f"{number}.csv", "-o", tmp_path / str(number), QUICK, split)
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_defaults_are_the_classifiers(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("train", data, "-o", tmp_path / "m").code == 0
    images = load_images(data)
    DDLCNClassifier().fit(images.images, images.labels).save(tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_every_option_of_the_model(run: Run, data: Path, tmp_path: Path) -> None:
    facts = run("train", data, "-o", tmp_path / "m", "--images-per-class 2 --atoms-per-class 3 --layers 3 --json").json
    assert facts["atoms"] == {"sift": [9, 64, 64]}
    assert facts["channels"][0]["dictionary"]["images_per_class"] == 2
    options = "--preset paper --images-per-class all --atoms-per-class 3 --deeper-atoms none --neighbors 4 --deskew no"
    more = "--coder llc --C 2 --channels sift=0.5 --augmentation elastic --class-weight balanced --json"
    facts = run("train", data, "-o", tmp_path / "m", options, more).json
    [sift] = facts["channels"]
    assert facts["weights"] == [0.5]
    assert (sift["coder"]["kind"], sift["coder"]["n_neighbors"]) == ("LLCCoder", 4)
    assert sift["dictionary"].items() >= {"images_per_class": None, "atoms_per_class": 3, "deeper_atoms": []}.items()
    assert (facts["C"], facts["augmentation"], facts["atoms"]) == (2.0, "elastic", {"sift": [9]})
    assert DDLCNClassifier.load(tmp_path / "m").class_weight == "balanced"


def test_deskew(run: Run, data: Path, tmp_path: Path) -> None:
    for path in data.glob("*/*.png"):
        Image.fromarray(np.pad(np.asarray(Image.open(path)), 4)).save(path)  # a uniform background
    for given in ("yes", "no"):
        facts = run("train", data, "-o", tmp_path / "m", QUICK, "--json --deskew", given).json
        assert (facts["preprocessing"]["deskew"] is not None) == (given == "yes")


def test_selection_is_told(run: Run, data: Path, tmp_path: Path) -> None:
    """By `train`, `info` and the report, in the same words."""
    trained = run("train", data, "-o", tmp_path / "m", "-t", 4, "--atoms-per-class", 2, "--report", tmp_path / "r")
    selection = run("info", tmp_path / "m", "--json").json["selection"]
    weights = {"weight of sift_grid", "weight of covariance", "weight of covariance_grid"}
    assert {row["setting"] for row in selection} == {"color", "deskew", *weights, "augmentation", "C"}
    page = (tmp_path / "r" / "index.html").read_text("utf-8")
    shown = " ".join(run("info", tmp_path / "m").out.split())  # lines are folded
    assert all(text in shown for text in (*LABELS, "12 images", "sift.coder LocalityCoder(beta="))
    for sentence in selection_sentences(selection):
        assert sentence in trained.out
        assert sentence in shown
        assert f"<li>{sentence}</li>" in page


def test_parts(run: Run, tmp_path: Path) -> None:
    images = np.stack([np.asarray(Image.open(p)) for p in sorted(write_images(tmp_path / "d").glob("*/*"))])
    labels = np.repeat(LABELS, 6)
    np.savez(tmp_path / "two.npz", x_train=images, y_train=labels, x_test=images[::2], y_test=labels[::2])
    assert run("train", tmp_path / "two.npz", "-o", tmp_path / "m", QUICK, "--json").json["n_train"] == 18
    for part, n_test in (("", 9), ("--part train", 18)):
        assert run("evaluate", tmp_path / "m", tmp_path / "two.npz", "--json", part).json["n_test"] == n_test


def test_report_and_learning_curve(run: Run, data: Path, tmp_path: Path) -> None:
    report = ("--report", tmp_path / "report", "--learning-curve")
    ran = run("train", data, "-o", tmp_path / "m", "-t", 4, QUICK, *report, "--json")
    assert Path(ran.json["report"]) == tmp_path / "report" / "index.html"
    assert {"reading", "testing", "report"} <= set(ran.json["timings"])
    assert ran.json["seconds"] == pytest.approx(sum(ran.json["timings"].values()))
    assert 'id="curve"' in Path(ran.json["report"]).read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "m", "report"]


def test_report_of_evaluate(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    run("evaluate", model, data, "--report", report, "--json")
    assert "--train-data" in (report / "index.html").read_text("utf-8")  # how to have duplicates searched
    run("evaluate", model, data, "--report", report, "--train-data", model.parent / "data", "--json")
    page = (report / "index.html").read_text("utf-8")
    assert "18 of 18 test images" in page  # the same images
    assert "nearest patch" in page
    assert "name its folder with --report" in run("evaluate", model, data, "--train-data", data).line


def test_evaluate_unknown_images(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    plain = run("evaluate", model, data, "--json").json
    assert plain["rejection"] is None
    for name in ("unknown", "other"):
        (data / name).mkdir()
        Image.fromarray(np.zeros((24, 24), np.uint8)).save(data / name / "blank.png")
    typed = ("evaluate", model, data, "--false-alarms 0.1")
    assert "'other' is not a class of this model" in run(*typed).line
    (data / "other" / "blank.png").rename(data / "unknown" / "black.png")
    report = ("--report", tmp_path / "report")
    found = run(*typed, *report, "--json").json
    assert {key: found[key] for key in ("accuracy", "n_test", "per_class")} == {
        key: plain[key] for key in ("accuracy", "n_test", "per_class")
    }
    alarms = found["rejection"].pop("n_known_rejected")
    assert found["rejection"] == {"false_alarms": 0.1, "n_unknown": 2, "n_unknown_rejected": 2, "n_known": 18}
    shown = run(*typed).out
    assert "2 of 2 unknown images rejected, 100.0%\n" in shown
    assert f"{alarms} of 18 known images rejected, {alarms / 18:.1%} (about 10.0% expected)\n" in shown
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "<dt>unknown images rejected</dt><dd>2 of 2</dd>" in page
    assert f"<dt>known images rejected</dt><dd>{alarms} of 18" in page
    (data / "unknown").rename(data / "other")
    assert run(*typed, "--unknown-label other --json").json["rejection"]["n_unknown"] == 2
    golden = ROOT / "tests" / "persistence" / "golden" / "format3.ddlcn"
    (data / "level").rename(data / "one")
    for label in ("[red]", "upright"):
        shutil.rmtree(data / label)
    assert "this model has no calibration" in run("evaluate", golden, data, "--unknown-label other").line
    shutil.rmtree(data / "one")
    assert "all images have the label 'other': add images" in run(*typed, "--unknown-label other").line


def test_extend(run: Run, data: Path, tmp_path: Path) -> None:
    more = write_images(tmp_path / "more", labels=("other",))
    for seed, path in enumerate(more.glob("*/*.png")):
        Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 24), np.uint8)).save(path)
    run("train", data, "-o", tmp_path / "m", "--work", tmp_path / "work", QUICK)
    extended = run("extend", tmp_path / "m", more, "-o", tmp_path / "e", "--work", tmp_path / "work", "--json").json
    assert (extended["n_train"], extended["classes"]) == (24, ["[red]", "level", "other", "upright"])
    assert run("predict", tmp_path / "e", more).out.count(",other,") == 6
    line = run("extend", tmp_path / "m", more, "-o", tmp_path / "f", "--work", tmp_path / "new").line
    assert f"--work '{tmp_path / 'new'}': does not exist; give the folder that was used with ddlcn train --work" in line
    assert not (tmp_path / "new").exists()


def test_scheduler(run: Run, data: Path, tmp_path: Path) -> None:
    """The cluster trains; the test runs here."""
    distributed = pytest.importorskip("distributed", reason="pip install 'ddlcn[cluster]'")
    with distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        more = f"-t 4 --work {tmp_path / 'work'} --scheduler {cluster.scheduler_address} --json"
        trained = run("train", data, "-o", tmp_path / "m", QUICK, more).json
    assert trained["n_test"] == 6
    run("train", data, "-o", tmp_path / "n", QUICK, "-t 4")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


@pytest.mark.slow
def test_demo(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("demo", "-o", tmp_path / "digits.ddlcn", "--json").json
    assert shown["accuracy"] >= 0.99
    assert shown["n_train"] + shown["n_test"] == 1797
    assert shown["seconds"] < 90
    assert run("info", tmp_path / "digits.ddlcn").code == 0
    assert (tmp_path / "ddlcn-report" / "index.html").is_file()
