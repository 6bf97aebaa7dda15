"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets: $DDLCN_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("DDLCN_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set DDLCN_DATA")
    return folder
