"""Laws of methods on rows, and what they refuse."""

import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn import DDLCNError
from ddlcn_lab.methods import memory
from ddlcn_lab.methods.addl import ADDL
from ddlcn_lab.methods.bayesian import BayesianDictionary
from ddlcn_lab.methods.clustering import ClusteredFilters
from ddlcn_lab.methods.copar import COPAR
from ddlcn_lab.methods.fddl import FDDL
from ddlcn_lab.methods.hmp import MultipathFeatures
from ddlcn_lab.methods.ksvd import LabelConsistentKSVD
from ddlcn_lab.methods.networks import FrozenFeatures, SmallCNN
from ddlcn_lab.methods.pairs import DictionaryPairs
from ddlcn_lab.methods.pcanet import PCANet
from ddlcn_lab.methods.probes import BackboneMean, LogisticProbe
from ddlcn_lab.methods.proximal import ProximalDictionary
from ddlcn_lab.methods.representation import RepresentationClassifier
from ddlcn_lab.methods.rrc import RobustCoding
from ddlcn_lab.methods.spm import IntersectionSVM

LEARNT = [FDDL(3), COPAR(3, 2), ADDL(3), BayesianDictionary(False, 3, 3, sweeps=4), LabelConsistentKSVD(3, 3)]
LEARNT.append(ProximalDictionary(3, passes=3))
OTHERS = [RobustCoding(passes=1), RepresentationClassifier(), DictionaryPairs(2), LogisticProbe(), IntersectionSVM()]


@parametrize_with_checks([*LEARNT, *OTHERS, BayesianDictionary(True, 3, 3, sweeps=4)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [FDDL(4, sparsity=0.02, fisher=0.05), COPAR(4, 2, sparsity=0.02), ADDL(4, passes=6)])
def test_objective_falls(model, three_digits):
    """In each pass, and for FDDL and COPAR by each update of the atoms of a class; -1 are COPAR's shared atoms."""
    Y, targets = three_digits
    assert (np.diff(model.fit(Y, targets).objective_path_) < 0).all()
    A = np.random.default_rng(0).normal(size=(len(Y), len(model.atoms_))) * 0.1
    for atom_class in np.unique(model.atom_classes_) if not isinstance(model, ADDL) else ():
        before = model.objective(Y, A, targets)
        model._update_atoms(Y, A, targets, atom_class)
        assert model.objective(Y, A, targets) < before
        np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)


@pytest.mark.parametrize("model", [*LEARNT, RobustCoding()])
def test_too_many_atoms(model, digits, monkeypatch):
    monkeypatch.setattr(memory, "LARGEST", 10_000)
    with pytest.raises(DDLCNError, match="give fewer"):
        model.fit(*digits[:2])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BayesianDictionary(sweeps=0), "sweeps"),
        (RobustCoding(trusted=2), "share"),
        (ClusteredFilters(side=4), "odd side"),
        (MultipathFeatures(), "patch of 16"),
        *((PCANet(**given), "give") for given in ({"stages": 3}, {"n_filters": 9}, {"filter_size": 4}, {"block": 99})),
    ],
)
def test_invalid_parameters(model, words, digits):
    X = digits[0] if isinstance(model, BayesianDictionary | RobustCoding) else digits[0].reshape(-1, 8, 8)
    with pytest.raises(DDLCNError, match=words):
        model.fit(X, digits[1])


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        (LabelConsistentKSVD(), "dictlearn", "lab"),
        (SmallCNN(), "torch", "cnn"),
        (FrozenFeatures("x"), "torch", "cnn"),
        (BackboneMean(output="stage1"), "onnxruntime", "backbone"),  # a map that no other test has opened
    ],
)
def test_missing_package(model, package, extra, digits, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DDLCNError, match=rf"ddlcn\[{extra}\]"):
        model.fit(*digits[:2])
