"""Options of `ddlcn train` become channels."""

import pytest

from ddlcn import DDLCNError, LLCCoder, LocalityCoder
from ddlcn.cli.channels import build_channels


def test_channels() -> None:
    assert build_channels("best", atoms_per_class=3) is None  # the preset's
    assert [channel.name for channel in build_channels("best", {"sift": None})] == ["sift"]
    sift, grid = build_channels("best", {"sift": None, "sift_grid": 0.5}, images_per_class=7, deeper_atoms=(8,))
    assert (sift.name, sift.weight, grid.name, grid.weight) == ("sift", 1.0, "sift_grid", 0.5)
    assert (sift.dictionary.images_per_class, sift.dictionary.deeper_atoms) == (7, (8,))


def test_coders() -> None:
    [sift] = build_channels("paper", neighbors=(4,), beta=0.1)
    assert sift.coder.get_params() == LocalityCoder(4, beta=0.1).get_params()
    assert sift.deeper_coder.get_params() == LocalityCoder(10, beta=0.1).get_params()
    [sift] = build_channels("paper", coder="llc", neighbors=(4, 3))
    assert (type(sift.coder), sift.coder.n_neighbors) == (LLCCoder, 4)
    assert (type(sift.deeper_coder), sift.deeper_coder.n_neighbors) == (LLCCoder, 3)
    [sift] = build_channels("paper", coder="exact")
    assert sift.coder.get_params() == LocalityCoder(15, beta=0.01).get_params()


def test_unknown_channel() -> None:
    with pytest.raises(DDLCNError, match="preset paper has no channel 'sift_grid'; choose from sift"):
        build_channels("paper", {"sift_grid": None})
