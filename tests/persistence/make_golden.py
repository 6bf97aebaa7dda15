"""python -m tests.persistence.make_golden: write golden model files of this format, which later versions must read.

A file is made once and then kept: one that is there is not written again.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, presets
from ddlcn.persistence.schema import FORMAT

FOLDER = Path(__file__).parent / "golden"
FALSE_ALARMS = 0.1
NAMES = np.array(["naught", "one", "two"])


def images() -> tuple[np.ndarray, np.ndarray]:
    """Digits of three classes on a uniform background, and their names."""
    digits = load_digits()
    some = digits.target < len(NAMES)
    return np.pad(digits.images[some], ((0, 0), (2, 2), (2, 2)))[:60], NAMES[digits.target[some]][:60]


def colored(X: np.ndarray) -> np.ndarray:
    """Images on paper whose colour varies."""
    tints = np.random.RandomState(1).uniform(0.5, 1, (len(X), 1, 1, 3))
    return np.maximum(X[..., None], 4) * tints


def new_images() -> np.ndarray:
    """Colour images that were not trained on: digits, red ones, an empty image and noise."""
    digits = colored(images()[0][40:])
    noise = np.random.RandomState(0).uniform(0, 16, (3, 12, 12, 3))
    return np.concatenate([digits, digits[:6] * [1, 0, 0], np.zeros((1, 12, 12, 3)), noise])


def trained() -> DDLCNClassifier:
    """A small model with two channels, deskewing and augmentation."""
    sift, sift_grid = presets.best(atoms_per_class=3, deeper_atoms=(4,)).channels[:2]
    channels = [sift, sift_grid.with_params(weight=0.5)]
    X, y = images()
    return DDLCNClassifier(channels=channels, deskew=True, augmentation="flip").fit(X[:40], y[:40])


def calibrated() -> DDLCNClassifier:
    """A small model of colour images, calibrated by held-out ones."""
    X, y = images()
    return DDLCNClassifier(atoms_per_class=3, deeper_atoms=(4,)).fit(colored(X[:40]), y[:40])


def write(name: str, model: DDLCNClassifier, X: np.ndarray) -> None:
    """Write a file, and what it answers, unless it is there."""
    path = FOLDER / f"format{FORMAT}{name}.ddlcn"
    if path.exists():
        return
    model.save(path)
    answers = {"labels": model.predict(X).tolist(), "scores": model.decision_function(X).round(6).tolist()}
    if model.calibration_ is not None:
        answers["unknown"] = model.is_unknown(X, FALSE_ALARMS).tolist()
    path.with_suffix(".json").write_text(json.dumps(answers) + "\n")


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    write("", trained(), images()[0][40:])
    write("-calibrated", calibrated(), new_images())


if __name__ == "__main__":
    main()
