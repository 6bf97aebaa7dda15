"""Every method that `ddlcn bench` can run, by name.

A method makes a scikit-learn estimator on images: `fit(images, labels)` and `predict(images)`. If it also has
the stages of `DDLCNClassifier` (`learn`, `weigh`, `transform`, `augment`, `train`, `svm_`), then rows of a
bench that differ in t alone share its features, and methods with equal first layers share their dictionaries.

A name may go on with parameters to change, as in `ddlcn:beta=0.05+neighbors=(5,10)`.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ddlcn.baselines.addl import ADDL
from ddlcn.baselines.bayesian import BayesianDictionary
from ddlcn.baselines.clustering import ClusteredFilters
from ddlcn.baselines.codebook import CodebookFeatures, MeanPyramid
from ddlcn.baselines.coders import KernelCoder, LaplacianCoder, LassoCoder
from ddlcn.baselines.copar import COPAR
from ddlcn.baselines.fddl import FDDL
from ddlcn.baselines.hmp import MultipathFeatures
from ddlcn.baselines.inputs import GradientHistograms, Pixels, RandomFaces
from ddlcn.baselines.ksvd import LabelConsistentKSVD
from ddlcn.baselines.networks import FrozenFeatures, SmallCNN
from ddlcn.baselines.pairs import DictionaryPairs
from ddlcn.baselines.pcanet import PCANet
from ddlcn.baselines.released import ReleasedClassifier
from ddlcn.baselines.representation import RepresentationClassifier
from ddlcn.baselines.rrc import RobustCoding
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LLCCoder
from ddlcn.layers.svm import LinearSVM
from ddlcn.presets import get_preset


@dataclass(frozen=True)
class Method:
    """`make(p, q, seed, n_jobs)` gives an unfitted estimator; p = None is all training images."""

    summary: str
    make: Callable[[int | None, int, int, int | None], BaseEstimator]
    heeds: str = "pq"  # which of p and q it depends on; others are not repeated


def _network(cls: type[DDLCNClassifier] = DDLCNClassifier, preset: str = "paper", **params: Any) -> Callable:
    def make(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
        descriptor = clone(get_preset(preset).descriptor)  # its own, so that its parameters can be set
        shared: dict[str, Any] = {"images_per_class": p, "atoms_per_class": q, "random_state": seed}
        return cls(preset=preset, descriptor=descriptor, n_jobs=n_jobs, **shared, **params)

    return make


def _rows(image_rows: Pixels, classifier: BaseEstimator) -> Callable:
    return lambda p, q, seed, n_jobs: make_pipeline(clone(image_rows), clone(classifier))


def _faces(build: Callable[[int | None, int, int], BaseEstimator]) -> Callable:
    """A method on random faces; AR's 540 dimensions are `name:randomfaces__n_features=540`."""
    return lambda p, q, seed, n_jobs: make_pipeline(RandomFaces(random_state=seed), build(p, q, seed))


def _ksvd(**weights: Any) -> Callable:
    return _faces(lambda p, q, seed: LabelConsistentKSVD(q, random_state=seed, **weights))


def _lcksvd(**weights: Any) -> Callable:
    """The papers' "A" is a dictionary that starts from all training samples."""
    return _faces(
        lambda p, q, seed: LabelConsistentKSVD(None if p is None else q, random_state=seed, **weights)
    )


def _bases(n_neighbors: int) -> Callable:
    """Locality-constrained codes over p faces a person, as SRC."""
    return _faces(lambda p, q, seed: RepresentationClassifier(LLCCoder(n_neighbors), p, seed))


def _bayesian(joint: bool) -> Callable:
    return _faces(lambda p, q, seed: BayesianDictionary(joint, q, random_state=seed))


def _csdl(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    faces = RandomFaces(power=0.5, random_state=seed)
    return make_pipeline(faces, RepresentationClassifier(LassoCoder(0.001), None, seed, atoms_per_class=q))


def _codebook(coder: BaseEstimator, pooling: BaseEstimator | None = None) -> Callable:
    def make(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
        parts = {
            "coder": clone(coder),
            "pooling": pooling,
            "descriptor": clone(get_preset("paper").descriptor),
        }
        features = CodebookFeatures(**parts, random_state=seed, n_jobs=n_jobs)
        return make_pipeline(features, LinearSVM(random_state=seed, n_jobs=n_jobs))

    return make


def _features(cls: type[BaseEstimator]) -> Callable:
    """Learnt features of images, and the linear SVM."""
    return lambda p, q, seed, n_jobs: make_pipeline(
        cls(random_state=seed, n_jobs=n_jobs), LinearSVM(random_state=seed, n_jobs=n_jobs)
    )


def _cnn(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    return SmallCNN(random_state=seed)


def _frozen(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    """Weights are `frozen-vgg:frozenfeatures__weights=FILE`."""
    return make_pipeline(FrozenFeatures(), StandardScaler(), LinearSVM(C="cv", random_state=seed))


def _pcanet(stages: int) -> Callable:
    return lambda p, q, seed, n_jobs: PCANet(stages, n_jobs=n_jobs)


METHODS: dict[str, Method] = {
    "ddlcn": Method("the paper's network, two layers, exact codes", _network()),
    "ddlcn-1": Method("its first layer alone", _network(deeper_atoms=())),
    "ddlcn-3": Method("with a third layer of 64 atoms", _network(deeper_atoms=(64, 64))),
    "ddlcn-llc": Method("two layers, coded by LLC's closed form", _network(coder="llc")),
    "ddlcn-best": Method("two layers, preset best", _network(preset="best")),
    "ddlcn-released": Method(
        "what the authors' code computes", _network(ReleasedClassifier, deeper_atoms=(32,))
    ),
    "llc": Method(
        "LLC with 5 neighbours on class-wise dictionaries",
        _network(deeper_atoms=(), coder="llc", neighbors=(5,)),
    ),
    "llc-1024": Method("LLC with 5 neighbours on one codebook of 1024", _codebook(LLCCoder(5)), ""),
    "scspm": Method("sparse codes on a codebook of 1024", _codebook(LassoCoder(0.15, absolute=True)), ""),
    "lscspm": Method(
        "sparse codes that neighbours share", _codebook(LaplacianCoder(0.15, absolute=True)), ""
    ),
    "kc": Method("kernel codebook of 1024, mean-pooled", _codebook(KernelCoder(), MeanPyramid()), ""),
    "llc-30": Method("LLC with 30 local bases on random faces", _bases(30), "p"),
    "llc-70": Method("LLC with 70 local bases on random faces", _bases(70), "p"),
    "src": Method(
        "sparse representation over p faces a person",
        _faces(lambda p, q, seed: RepresentationClassifier(LassoCoder(0.003), p, seed)),
        "p",
    ),
    "k-svd": Method("K-SVD and ridge on random faces", _ksvd(), "q"),
    "d-ksvd": Method("discriminative K-SVD on random faces", _ksvd(fidelity=1e-4), "q"),
    "lc-ksvd1": Method("label-consistent K-SVD, ridge classifier", _lcksvd(consistency=4e-6)),
    "lc-ksvd2": Method("label-consistent K-SVD", _lcksvd(consistency=0.04, fidelity=0.01)),
    "fddl": Method("Fisher discrimination dictionaries", _faces(lambda p, q, seed: FDDL(q)), "q"),
    "dl-copar": Method("shared and class dictionaries", _faces(lambda p, q, seed: COPAR(q)), "q"),
    "addl": Method("analysis dictionaries and classifier", _faces(lambda p, q, seed: ADDL(q)), "q"),
    "dbdl": Method("Bayesian dictionary, then its classifier", _bayesian(joint=False), "q"),
    "jbdc": Method("Bayesian dictionary and classifier together", _bayesian(joint=True), "q"),
    "csdl-src": Method("SRC over q learnt faces a person, on square roots of pixels", _csdl, "q"),
    "dpl": Method("dictionary pairs", _faces(lambda p, q, seed: DictionaryPairs(q, random_state=seed)), "q"),
    "pcanet-1": Method("principal filters, one stage", _pcanet(1), ""),
    "pcanet-2": Method("principal filters, two stages", _pcanet(2), ""),
    "m-hmp": Method("matching pursuit along two paths", _features(MultipathFeatures), ""),
    "convolutional-clustering": Method("clustered filters, two layers", _features(ClusteredFilters), ""),
    "cnn": Method("a small CNN trained from scratch (needs torch)", _cnn, ""),
    "frozen-vgg": Method("linear SVM on a pretrained VGG's maps (torch, weights)", _frozen, ""),
    "rrc-l1": Method("robust coding on 300 eigenfaces", _rows(Pixels(54), RobustCoding()), ""),
    "nearest": Method("nearest neighbour on pixels", _rows(Pixels(), KNeighborsClassifier(1)), ""),
    "ridge": Method("ridge regression of labels on pixels", _rows(Pixels(), RidgeClassifier()), ""),
    "svm": Method("linear SVM on pixels", _rows(Pixels(), LinearSVM(C="cv")), ""),
    "hog": Method("linear SVM on gradient histograms", _rows(GradientHistograms(), LinearSVM(C="cv")), ""),
}


def get_method(name: str) -> Method:
    """The method of a name, with the parameters that follow it.

    >>> get_method("ddlcn:beta=0.05+descriptor__contrast_threshold=0.1").make(1, 2, 0, None).beta
    0.05
    """
    base, _, changes = name.partition(":")
    if base not in METHODS:
        raise DDLCNError(f"method {base!r} is unknown; choose from {', '.join(METHODS)}")
    method = METHODS[base]
    if not changes:
        return method
    try:
        params = {key: _value(text) for key, text in (change.split("=") for change in changes.split("+"))}
        method.make(1, 1, 0, None).set_params(**params)
    except ValueError as error:
        what = str(error).splitlines()[0][:150]
        raise DDLCNError(f"method {name!r}: {what}; write name:parameter=value+parameter=value") from None
    return replace(method, make=lambda *args: method.make(*args).set_params(**params))


def _value(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text
