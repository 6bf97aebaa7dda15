"""Our presets as methods."""

from ddlcn.layers.coding import LinearCoder, LLCCoder
from ddlcn_lab.methods.ddlcn import ddlcn, released


def test_a_channel_is_left_out():
    model = ddlcn("best", without="color")(5, 3, seed=7, n_jobs=1)
    assert [channel.name for channel in model.channels] == ["sift", "sift_grid", "covariance", "covariance_grid"]
    assert (model.channels[0].dictionary.images_per_class, model.channels[0].dictionary.atoms_per_class) == (5, 3)
    assert model.random_state == 7


def test_coders_of_locality_codes_are_replaced():
    sift, grid, color, *_ = ddlcn("best", coder=LLCCoder(20))(None, 0, 0, None).channels
    assert isinstance(sift.coder, LLCCoder)
    assert isinstance(color.coder, LLCCoder)
    assert isinstance(grid.coder, LinearCoder)
    assert sift.dictionary.atoms_per_class == "auto"


def test_released_layers():
    (sift,) = released(5, 3, 0, None).channels
    assert sift.dictionary.deeper_atoms == (32,)
    assert (sift.coder.n_neighbors, sift.deeper_coder.n_neighbors) == (15, 10)
