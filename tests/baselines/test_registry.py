"""Every rival, made by name, learns and answers."""

import numpy as np
import pytest

from ddlcn import DDLCNError
from ddlcn.baselines import memory
from ddlcn.baselines.addl import ADDL
from ddlcn.baselines.bayesian import BayesianDictionary
from ddlcn.baselines.copar import COPAR
from ddlcn.baselines.fddl import FDDL
from ddlcn.baselines.ksvd import LabelConsistentKSVD
from ddlcn.baselines.registry import METHODS, get_method
from ddlcn.baselines.rrc import RobustCoding

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


@pytest.mark.parametrize("name", [n for n in RIVALS if n not in (*NEED_TORCH, "llc", "llc-30", "llc-70")])
def test_too_much_is_refused_before_it_is_held(name, pictures, monkeypatch):
    """All but methods that hold little more than their images do."""
    monkeypatch.setattr(memory, "LARGEST", 0)
    model = get_method(name).make(5, 5, 0, None)
    if "codebookfeatures" in model.get_params():
        model.set_params(codebookfeatures__n_atoms=10)
    with pytest.raises(DDLCNError, match="GB"):
        model.fit(list(pictures[0]), pictures[1])


@pytest.mark.parametrize(
    "model", [FDDL(2), COPAR(2, 2), ADDL(2), BayesianDictionary(), LabelConsistentKSVD(2), RobustCoding()]
)
def test_too_many_atoms_are_refused_before_they_are_coded(model, digits, monkeypatch):
    monkeypatch.setattr(memory, "LARGEST", 10_000)
    with pytest.raises(DDLCNError, match="give fewer"):
        model.fit(*digits[:2])


@pytest.mark.parametrize("name", RIVALS)
def test_it_has_a_summary_and_parameters(name):
    assert METHODS[name].summary
    assert get_method(name).make(None, 5, 0, None).get_params()
