"""A cache folder for the tests."""

import pytest

from ddlcn.descriptors import backbone


@pytest.fixture(scope="session")
def network_cache(tmp_path_factory):
    """A cache folder for all tests that only read it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache_folder(network_cache, monkeypatch):
    """The tests' own cache folder, and no network open from an earlier test."""
    monkeypatch.setenv("DDLCN_CACHE", str(network_cache))
    monkeypatch.setattr(backbone, "_opened", {})
    return network_cache / "backbones"


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache folder without networks."""
    monkeypatch.setenv("DDLCN_CACHE", str(tmp_path / "empty"))
    return tmp_path / "empty" / "backbones"
