"""Every rival, made by name, learns and answers."""

import numpy as np
import pytest

from ddlcn.baselines.registry import METHODS, get_method

pytest.importorskip("dictlearn")
RIVALS = [name for name in METHODS if not name.startswith("ddlcn")]
NEED_TORCH = ("cnn", "frozen-vgg")


@pytest.mark.parametrize("name", [name for name in RIVALS if name not in NEED_TORCH])  # test_networks
def test_it_beats_chance_by_far(name, pictures):
    images, labels, others, truth = pictures
    model = get_method(name).make(5, 5, 0, None)
    if name in ("scspm", "lscspm", "kc", "llc-1024"):
        model.set_params(codebookfeatures__n_atoms=40)
    if name == "m-hmp":
        model.set_params(multipathfeatures__atoms=24, multipathfeatures__small_atoms=12)
    if name == "convolutional-clustering":
        model.set_params(clusteredfilters__n_filters=(12, 12))
    predicted = model.fit(list(images), labels).predict(list(others))
    assert np.mean(predicted == truth) > 0.7


@pytest.mark.parametrize("name", RIVALS)
def test_it_has_a_summary_and_parameters(name):
    assert METHODS[name].summary
    assert get_method(name).make(None, 5, 0, None).get_params()
