"""The laboratory's protocol of unknown images."""

import json
import sys

import numpy as np
import pytest

from ddlcn_lab import unknown


@pytest.fixture(scope="module")
def photographs():
    """Colour images of different shapes."""
    rng = np.random.default_rng(0)
    return [rng.integers(256, size=shape).astype(np.uint8) for shape in ((24, 32, 3), (33, 21, 3))]


def test_split():
    target = np.repeat([3, 5, 8], [70, 12, 4])
    train, test = unknown.split(target, 4, seed=0)
    assert not set(train) & set(test)
    assert [int((target[train] == label).sum()) for label in (3, 5, 8)] == [4, 4, 4]
    assert [int((target[test] == label).sum()) for label in (3, 5, 8)] == [unknown.N_TEST, 8, 0]
    again, other = unknown.split(target, 4, seed=0), unknown.split(target, 4, seed=1)
    assert np.array_equal(train, again[0])
    assert not np.array_equal(train, other[0])


@pytest.mark.parametrize("grey", [False, True])
def test_strange_images(photographs, grey):
    found = dict(unknown.strange_images(photographs, grey, seed=0))
    assert list(found) == ["blank", "noise", "blobs", "inverted", "shuffled patches"]
    for kind in ("blank", "noise", "blobs", "inverted"):
        assert [image.shape for image in found[kind]] == [image.shape for image in photographs]
        assert all(image.dtype == np.uint8 for image in found[kind])
    assert all(np.ptp(image, axis=(0, 1)).max() == 0 for image in found["blank"])
    for kind in ("blank", "noise", "blobs"):
        assert all((np.ptp(image, axis=2) == 0).all() == grey for image in found[kind])
    roughness = {kind: np.abs(np.diff(found[kind][0].astype(int), axis=1)).mean() for kind in ("noise", "blobs")}
    assert roughness["blobs"] < roughness["noise"] / 4
    for image, inverted, shuffled in zip(photographs, found["inverted"], found["shuffled patches"], strict=True):
        assert np.array_equal(image, 255 - inverted)
        height, width = (4 * (side // 4) for side in image.shape[:2])
        assert shuffled.shape == (height, width, 3)
        assert not np.array_equal(shuffled, image[:height, :width])
        assert np.array_equal(np.sort(shuffled, axis=None), np.sort(image[:height, :width], axis=None))


def test_runs(tmp_path, monkeypatch, capsys):
    """Both tasks on digits, each once; finished runs are not repeated."""
    monkeypatch.setattr(unknown, "TASKS", {"sets": {"digits": 12}, "unseen": {"digits": 8}})
    monkeypatch.setitem(unknown.LEFT_OUT, "digits", 0.2)
    monkeypatch.setitem(unknown.OTHERS, "digits", ("digits",))  # digits are not strange to a model of digits
    monkeypatch.setenv("DDLCN_DATA", str(tmp_path))
    out = tmp_path / "unknown.jsonl"
    monkeypatch.setattr(sys, "argv", ["unknown", "--seeds", "1", "--out", str(out)])
    unknown.main()
    sets, unseen = map(json.loads, out.read_text().splitlines())
    assert (sets["run"], unseen["run"]) == (["sets", "digits", 12, 0], ["unseen", "digits", 8, 0])
    assert sets["accuracy"] > 0.8
    assert 0.8 < sets["coverage"] <= 1
    assert 0 <= sets["empty"] < 0.3
    assert sets["set_size"] < 5
    assert sets["rejected"]["blank"] == 1
    assert sets["rejected"]["noise"] > 0.6
    assert sets["rejected"]["digits"] < 0.3
    assert 0.5 < unseen["auroc_novelty"] <= 1
    assert 0.5 < unseen["auroc_probability"] <= 1
    capsys.readouterr()
    unknown.main()
    assert "auroc_novelty" not in capsys.readouterr().out  # the tables only
    assert len(out.read_text().splitlines()) == 2


def test_tables():
    sets = {"coverage": 0.9, "set_size": 1.5, "empty": 0.0, "false_alarms": 0.05, "accuracy": 0.8}
    rows = [
        {"run": ["sets", "flowers17", 20, 0], **sets, "rejected": {"blank": 1.0}},
        {"run": ["sets", "flowers17", 20, 1], **sets, "coverage": 1.0, "rejected": {"blank": 0.5}},
        {"run": ["unseen", "yaleb", 15, 0], "auroc_novelty": 0.987, "auroc_probability": 0.9},
    ]
    found = unknown.tables(rows)
    assert "| flowers17 | 20 | 2 | 95.0 ± 5.0 | 1.50 ± 0.00 | 0.0 ± 0.0 | 5.0 ± 0.0 | 80.0 ± 0.0 |" in found
    assert "| flowers17 | blank | 75.0 ± 25.0 |" in found
    assert "| yaleb | 1 | 0.99 | 0.90 |" in found
