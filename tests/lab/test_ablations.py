"""Ablations: valid methods, and a table from made-up rows."""

import json

import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab import ablations
from ddlcn_lab.methods.registry import get_method
from ddlcn_lab.results import Results


def test_one_change_each():
    """Each variant is a valid method that differs from preset best in what it says."""
    models = {label: get_method(make(6)).make(None, 0, 0, None) for label, make in ablations.VARIANTS.items()}
    base = models["preset `best`"]
    names = {label: [channel.name for channel in model.channels] for label, model in models.items()}
    assert names["preset `best`"] == ["sift", "sift_grid", "color", "covariance", "covariance_grid"]
    assert names["no channel `color`"] == ["sift", "sift_grid", "covariance", "covariance_grid"]
    assert names["no channel `covariance`"] == ["sift", "sift_grid", "color", "covariance_grid"]
    assert names["no channel `covariance_grid`"] == ["sift", "sift_grid", "color", "covariance"]
    assert names["no channel `sift_grid`"] == ["sift", "color", "covariance", "covariance_grid"]
    first = {label: model.channels[0] for label, model in models.items()}
    assert [first[f"{n} atoms in all"].dictionary.atoms_per_class for n in (256, 512, 2048)] == [43, 86, 342]
    assert type(first["LLC coder"].coder).__name__ == type(models["LLC coder"].channels[2].coder).__name__ == "LLCCoder"
    assert first["one layer (so no `sift_grid` either)"].dictionary.deeper_atoms == ()
    assert first["15 neighbours (the paper's)"].coder.n_neighbors == 15
    assert models["no augmentation"].augmentation == "none"
    assert {str(model.get_params()) for label, model in models.items() if model is not base}.isdisjoint(
        {str(base.get_params())}
    )


def write_rows(path):
    """Preset best has 50 % of 100 images right; without augmentation 3, 4 and 5 points less by seed."""
    with path.open("w") as file:
        for task in ablations.tasks(["wbc1"]):
            lost = {"ddlcn-best": 0, "ddlcn-best:augmentation=none": task.seed - 97}.get(task.job.method)
            if lost is not None:
                row = {"source": "s", "dataset": "wbc1", "seed": task.seed, **task.job._asdict(), "commit": "c"}
                row |= {"images": {"test": 100}, "wrong": list(range(50 + lost))}
                file.write(json.dumps(row) + "\n")
    return path


def test_table_of_differences(tmp_path):
    found = ablations.table(Results([write_rows(tmp_path / "rows.jsonl")]))
    cells = {row[0]: row[1] for row in found.rows}
    assert cells["preset `best`"] == "50.00 ± 0.00"
    assert cells["no augmentation"] == "**-4.00 ± 2.48**"  # 4.303 · 1 / √3
    assert cells["LLC coder"] == "not run"


def test_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ablations -->\nold\n<!-- end of ablations -->\nafter\n")
    rows = write_rows(tmp_path / "rows.jsonl")
    for _ in range(2):  # again: the same
        ablations.main(["--page", str(page), "--out", str(rows)])
        text = page.read_text()
        assert text.startswith("before\n<!-- ablations -->\nSource s, seeds 100, 101, 102.\n")
        assert text.endswith("\n<!-- end of ablations -->\nafter\n")
        assert text.count("| no augmentation | **-4.00 ± 2.48** | not run |") == 1
    page.write_text("no marks")
    with pytest.raises(DDLCNError, match="has no place for the table"):
        ablations.write_page(page, rows)
