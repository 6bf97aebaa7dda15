"""Data sets by name."""

import numpy as np
import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.datasets import get_source, load_dataset, own_test_rows

SIZES = {"yaleb": (2414, 38), "yaleb-excluded": (2034, 38), "ar": (2600, 100), "caltech101": (4772, 102)}
SIZES |= {"caltech256": (850, 10), "mnist": (70_000, 10), "digits": (1797, 10), "flowers17": (1020, 17)}
SIZES |= {"neu_det": (360, 6), "wbc1": (183, 4)}


@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_sizes(data_dir, name):
    images = load_dataset(name, data_dir)
    assert (len(images), len(images.target_names)) == SIZES[name]


@pytest.mark.data
def test_yaleb_excluded(data_dir):
    every, kept = (load_dataset(name, data_dir) for name in ("yaleb", "yaleb-excluded"))
    assert (np.bincount(every.target) - np.bincount(kept.target) == 10).all()
    left_out = set(every.paths) - set(kept.paths)
    assert all(abs(int(path.split("A")[-1][:4])) >= 95 for path in left_out)


@pytest.mark.data
def test_mnist_own_test_set(data_dir):
    images = load_dataset("mnist", data_dir)
    test = own_test_rows("mnist", images)
    assert len(test) == 10_000
    assert images.labels[test[:3]].tolist() == ["7", "2", "1"]


def test_unknown_name():
    with pytest.raises(DDLCNError, match=r"choose from mnist, yaleb.*folder:PATH"):
        load_dataset("nope")


def test_missing_file(tmp_path, monkeypatch):
    with pytest.raises(DDLCNError, match=r"put AR faces.*ar/AR_42_30\.mat"):
        load_dataset("ar", tmp_path)
    monkeypatch.setenv("DDLCN_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DDLCNError, match=str(tmp_path / "ddlcn" / "mnist")):
        load_dataset("mnist")


def test_folder_and_damaged_file(tmp_path):
    assert get_source(f"folder:{tmp_path}").t == (0.5,)
    (tmp_path / "ar").mkdir()
    (tmp_path / "ar" / "AR_42_30.mat").write_bytes(b"nonsense")
    with pytest.raises(DDLCNError, match="can't be read"):
        load_dataset("ar", tmp_path)
