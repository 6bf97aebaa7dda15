"""python -m tests.persistence.make_golden: write the golden model file of this format, which later versions must read.

It is made once for each format and then kept.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, presets
from ddlcn.persistence.schema import FORMAT

FOLDER = Path(__file__).parent / "golden"
NAMES = np.array(["naught", "one", "two"])


def images() -> tuple[np.ndarray, np.ndarray]:
    """Digits of three classes on a uniform background, and their names."""
    digits = load_digits()
    some = digits.target < len(NAMES)
    return np.pad(digits.images[some], ((0, 0), (2, 2), (2, 2)))[:60], NAMES[digits.target[some]][:60]


def trained() -> DDLCNClassifier:
    """A small model with all that format 3 can hold."""
    sift, sift_grid, _ = presets.best(atoms_per_class=3, deeper_atoms=(4,)).channels
    channels = [sift, sift_grid.with_params(weight=0.5)]
    X, y = images()
    return DDLCNClassifier(channels=channels, deskew=True, augmentation="flip").fit(X[:40], y[:40])


def main() -> None:
    """Write the file, and what it answers."""
    model, X = trained(), images()[0][40:]
    FOLDER.mkdir(exist_ok=True)
    model.save(FOLDER / f"format{FORMAT}.ddlcn")
    answers = {"labels": model.predict(X).tolist(), "scores": model.decision_function(X).round(6).tolist()}
    (FOLDER / f"format{FORMAT}.json").write_text(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
