"""A small model with two channels, deskewing and two layers."""

from pathlib import Path

import pytest

from ddlcn import DDLCNClassifier
from tests.persistence import make_golden


@pytest.fixture(scope="package")
def model() -> DDLCNClassifier:
    return make_golden.trained()


@pytest.fixture
def saved(model: DDLCNClassifier, tmp_path: Path) -> Path:
    path = tmp_path / "digits.ddlcn"
    model.save(path)
    return path
