"""The benchmark of channels: its protocol, and that it resumes."""

import numpy as np
from benchmarks import baseline, channels


def test_draw():
    """The same images as in the baseline, and more test images where they are wanted; no image does both."""
    target = np.random.default_rng(0).integers(0, 3, 300)
    for found, expected in zip(channels.draw(target, 5, 100), baseline.draw(target, 5, 100), strict=True):
        np.testing.assert_array_equal(found, expected)
    train, test = channels.draw(target, 5, 100, most_test=50)
    assert np.bincount(target[test]).tolist() == [50, 50, 50]
    assert not set(train) & set(test)


def test_resume(tmp_path, monkeypatch):
    out, methods = tmp_path / "channels.json", ["probe-lr", "probe-svm"]
    monkeypatch.setattr(channels, "ROWS", (channels.Row("digits", 3, 50, 60, most_test=2),))
    channels.run_missing(out, ["digits"], methods, [100])
    (first, second) = channels.read(out)["runs"]
    assert (first["task"], second["task"]) == (["digits", 3, "probe-lr", 100], ["digits", 3, "probe-svm", 100])
    assert (first["n_train"], first["n_test"]) == (30, 20)
    monkeypatch.setattr(channels, "measure", lambda row, method, seed, *_: {**first, "task": [seed]})
    channels.run_missing(out, ["digits"], methods, [100, 101])
    assert len(channels.read(out)["runs"]) == 4  # the two of seed 100 are not repeated


def test_tables():
    """Mean, standard error, target, and paired differences to the best of the other methods."""
    shares = {"ddlcn": (0.5, 0.6), "ddlcn-backbone": (0.8, 0.9), "probe-lr": (0.7, 0.7), "probe-svm": (0.9, 0.98)}
    rest = {"fit_seconds": 2.0, "predict_seconds": 4.0, "n_test": 1000, "accuracy": 0.3}
    runs = [
        {"task": ["wbc1", 5, method, seed], "balanced_accuracy": share, **rest}
        for method, both in shares.items()
        for seed, share in enumerate(both)
    ]
    lines = channels.tables(runs).splitlines()
    assert lines[2].split(" | ")[2:] == [
        "2", "balanced accuracy", "55.00 ± 5.00", "≥ 66, missed", "85.00 ± 5.00", "≥ 74, met", "70.00 ± 0.00",
        "94.00 ± 4.00", "-9.00 ± 1.00, below |",
    ]  # fmt: skip
    assert "| wbc1 | 5 | ddlcn | 2 | 30.00 ± 0.00 | 55.00 ± 5.00 | 2.0 | 4.0 |" in lines
