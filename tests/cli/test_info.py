"""`info`."""

from datetime import UTC, datetime
from pathlib import Path

from ddlcn import DDLCNClassifier, __version__
from ddlcn.persistence.model_file import read_format
from tests.cli.conftest import LABELS, QUICK, Run
from tests.helpers import ROOT


def test_json(run: Run, model: Path) -> None:
    facts = run("info", model, "--json").json
    encoder = DDLCNClassifier.load(model).encoder_.to_dict()
    assert {key: facts[key] for key in encoder} == encoder
    assert (facts["classes"], facts["atoms"]) == (list(LABELS), {"sift": [6, 4]})
    assert (facts["n_train"], facts["bytes"], facts["format"]) == (18, model.stat().st_size, read_format(model))
    assert (facts["augmentation"], facts["C"]) == ("none", 1.0)


def test_card(run: Run, data: Path, tmp_path: Path) -> None:
    """When, with which version, on what, and how well."""
    trained = run("train", data, "-o", tmp_path / "m", "-t 4", QUICK, "--json").json
    facts = run("info", tmp_path / "m", "--json").json
    assert facts["created"] == datetime.now(UTC).date().isoformat()
    assert (facts["version"], facts["class_counts"]) == (__version__, [4, 4, 4])
    assert facts["test"] == {"accuracy": trained["accuracy"], "n_images": 6}
    shown = " ".join(run("info", tmp_path / "m").out.split())
    assert f"trained {facts['created']}, by ddlcn {__version__} trained on 12 images" in shown
    assert "classes 3, with their images: [red] (4), level (4), upright (4)" in shown
    assert f"test accuracy {trained['accuracy']:.1%} on 6 held-out images (95% interval" in shown
    assert "channels sift: weight 1, 6 + 4 atoms" in shown


def test_no_test(run: Run, model: Path) -> None:
    assert run("info", model, "--json").json["test"] is None
    assert "none when it was trained; use ddlcn evaluate" in run("info", model).out


def test_older_file(run: Run) -> None:
    golden = ROOT / "tests" / "persistence" / "golden" / "format3.ddlcn"
    facts = run("info", golden, "--json").json
    assert [facts[name] for name in ("created", "version", "class_counts", "test")] == [None] * 4
    assert "unknown when (the file is of an older version)" in run("info", golden).out


def test_calibration(run: Run, model: Path) -> None:
    """What `predict` accepts, it says: the values that are shown work, the next ones do not."""
    facts = run("info", model, "--json").json["conformal"]
    assert (facts["n_images"], facts["n_smallest_class"]) == (12, 4)
    shown = " ".join(run("info", model).out.split())
    assert "unknown images calibrated on 12 held-out training images, 4 in the smallest class" in shown
    assert "false alarms from 0.077, coverage up to 0.923, class-conditional up to 0.8" in shown
    image = model.parent / "data" / "level" / "0.png"
    for good, bad in (
        ("--reject --false-alarms 0.077", "--reject --false-alarms 0.076"),
        ("--coverage 0.923", "--coverage 0.924"),
        ("--coverage 0.8 --class-conditional", "--coverage 0.801 --class-conditional"),
    ):
        assert run("predict", model, image, good).code == 0
        assert "held-out training images" in run("predict", model, image, bad).line


def test_no_calibration(run: Run) -> None:
    golden = ROOT / "tests" / "persistence" / "golden" / "format3.ddlcn"
    assert run("info", golden, "--json").json["conformal"] is None
    assert "no calibration, so that images can't be rejected" in " ".join(run("info", golden).out.split())
