"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before xdist's workers start, or each compiles its own."""
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        digits = load_digits()
        for coder in ("exact", "llc"):
            model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=(8,), preset="paper", coder=coder)
            model.fit(digits.images[:100], digits.target[:100]).explain(digits.images[0])


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets: $DDLCN_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("DDLCN_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set DDLCN_DATA")
    return folder
