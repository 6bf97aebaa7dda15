"""How commands load a model."""

from pathlib import Path

import numpy as np
from PIL import Image

from ddlcn import DDLCNClassifier
from ddlcn.cli.app import load_model


def test_a_model_of_rows_classifies_files(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((8, 400))
    model = DDLCNClassifier("paper", atoms_per_class=2, deeper_atoms=(), image_shape=(20, 20))
    model.fit(rows, [0, 1] * 4).save(tmp_path / "m")
    Image.fromarray((255 * rows[0].reshape(20, 20)).astype(np.uint8)).save(tmp_path / "a.png")
    assert load_model(tmp_path / "m", n_jobs=1).predict([tmp_path / "a.png"]) == [0]
