"""What a preset decides, and what is refused."""

import pytest

from ddlcn import DDLCNClassifier, DDLCNError
from ddlcn.layers.coding import LLCCoder
from ddlcn.presets import PRESETS, settings_of


def test_what_is_given_stands_and_the_preset_decides_the_rest():
    found = settings_of(DDLCNClassifier(preset="paper", beta=0.3, min_channel=True, copies="moved"))
    assert (found.beta, found.min_channel, found.copies) == (0.3, True, "moved")
    assert (found.neighbors, found.power, found.C) == ((15, 10), 1.0, 1.0)
    assert settings_of(DDLCNClassifier()) == PRESETS["best"]


def test_the_last_number_of_neighbours_serves_all_deeper_layers():
    network = settings_of(DDLCNClassifier(neighbors=(7, 3), coder="llc")).network([None] * 4, expand=False)
    assert [coder.n_neighbors for coder in network.coders] == [7, 3, 3, 3]
    assert all(isinstance(coder, LLCCoder) for coder in network.coders)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preset": "good"}, "preset='good': unknown; choose one of paper, best"),
        ({"coder": "sparse"}, 'coder=\'sparse\': unknown; choose "exact" or "llc"'),
        ({"power": 0}, "power=0: must be positive"),
        ({"neighbors": ()}, "neighbors=\\(\\): give the number"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(settings, words):
    with pytest.raises(DDLCNError, match=words):
        DDLCNClassifier(**settings).learn(["no such file"] * 4, [0, 0, 1, 1])
