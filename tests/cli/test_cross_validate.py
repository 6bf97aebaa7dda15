"""`cross-validate`."""

from pathlib import Path

import pytest

from tests.cli.conftest import LABELS, Run

QUICK = "--preset paper --atoms-per-class 2 --folds 3 --jobs 1"


def test_json(run: Run, data: Path) -> None:
    before = sorted(data.parent.rglob("*"))
    found = run("cross-validate", data, QUICK, "--json").json
    assert (found["n_test"], found["n_folds"], found["classes"]) == (18, 3, list(LABELS))
    assert found["accuracy"] == pytest.approx(sum(found["fold_accuracies"]) / 3)
    assert found["accuracy"] > 0.8
    low, high = found["interval"]
    assert 0 <= low < found["accuracy"] <= high <= 1
    assert [row["n_test"] for row in found["per_class"]] == [6, 6, 6]
    assert sorted(data.parent.rglob("*")) == before  # no model, no work folder


def test_text(run: Run, data: Path) -> None:
    (data / "level" / "0.png").write_bytes(b"no image")
    ran = run("cross-validate", data, QUICK)
    assert ran.out.startswith("Accuracy ")
    assert "3-fold cross-validation: each of 17 images tested once" in ran.out
    assert "no model was written" in ran.out
    assert "Skipped 1 " in ran.err


def test_errors(run: Run, data: Path) -> None:
    line = run("cross-validate", data, "--preset paper --folds 7").line
    assert "7 folds, but no class has more than 6 images: use at most that many folds" in line
    for path in sorted((data / "level").iterdir())[1:]:
        path.unlink()
    assert "class 'level' has 1 usable image(s), 2 needed" in run("cross-validate", data).line
