"""Every method that `ddlcn bench` can run, by name.

A method makes a scikit-learn estimator on images: `fit(images, labels)` and `predict(images)`.

A name may be followed by parameters, as in `ddlcn:sift__coder__beta=0.05+C=10.0`; those of channels have the name of
the channel first.
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
from sklearn.preprocessing import Normalizer, StandardScaler

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LLCCoder
from ddlcn.layers.sift import DenseSIFT
from ddlcn.linear.svm import LinearSVM
from ddlcn.presets import get_preset
from ddlcn_lab.methods.addl import ADDL
from ddlcn_lab.methods.bayesian import BayesianDictionary
from ddlcn_lab.methods.clustering import ClusteredFilters
from ddlcn_lab.methods.codebook import CodebookFeatures, MeanPyramid
from ddlcn_lab.methods.coders import KernelCoder, LaplacianCoder, LassoCoder
from ddlcn_lab.methods.copar import COPAR
from ddlcn_lab.methods.dcn import DeepCoding
from ddlcn_lab.methods.ddlcn import ddlcn, released
from ddlcn_lab.methods.embedding import EmbedCNN
from ddlcn_lab.methods.fddl import FDDL
from ddlcn_lab.methods.fisher import FisherVectors
from ddlcn_lab.methods.hmp import MultipathFeatures
from ddlcn_lab.methods.inputs import GradientHistograms, Pixels, RandomFaces
from ddlcn_lab.methods.ksvd import LabelConsistentKSVD
from ddlcn_lab.methods.nbnn import LocalNBNN
from ddlcn_lab.methods.networks import FrozenFeatures, SmallCNN
from ddlcn_lab.methods.pairs import DictionaryPairs
from ddlcn_lab.methods.pcanet import PCANet
from ddlcn_lab.methods.probes import NETWORK, BackboneMean, LogisticProbe
from ddlcn_lab.methods.proximal import ProximalDictionary
from ddlcn_lab.methods.representation import RepresentationClassifier, RowCodes
from ddlcn_lab.methods.rrc import RobustCoding
from ddlcn_lab.methods.spm import HistogramPyramid, IntersectionSVM, PyramidHistograms
from ddlcn_lab.recipes.mnist import MNISTRecipe


@dataclass(frozen=True)
class Method:
    """What a name stands for.

    Parameters
    ----------
    summary : str
    make : callable
        `make(p, q, seed, n_jobs)` returns an unfitted estimator; p = None is all training images.
    depends_on : str
        Which of p and q matter; a bench does not repeat the others.
    leaks : bool
        Whether it can be run with the paper's leak (see `runner`): a DDLCNClassifier without "auto" settings.
    auto : bool
        Whether q = 0 leaves p and q to the method.
    """

    summary: str
    make: Callable[[int | None, int, int, int | None], BaseEstimator]
    depends_on: str = "pq"
    leaks: bool = False
    auto: bool = False


def _rows(image_rows: Pixels, classifier: BaseEstimator) -> Callable:
    return lambda p, q, seed, n_jobs: make_pipeline(clone(image_rows), clone(classifier))


def _faces(build: Callable[[int | None, int, int], BaseEstimator]) -> Callable:
    """A method on random faces; AR's 540 dimensions are `name:randomfaces__n_features=540`."""
    return lambda p, q, seed, n_jobs: make_pipeline(RandomFaces(random_state=seed), build(p, q, seed))


def _ksvd(**weights: Any) -> Callable:
    return _faces(lambda p, q, seed: LabelConsistentKSVD(q, random_state=seed, **weights))


def _lcksvd(**weights: Any) -> Callable:
    """The papers' "A" is a dictionary that starts from all training samples."""
    return _faces(lambda p, q, seed: LabelConsistentKSVD(None if p is None else q, random_state=seed, **weights))


def _bases(k: int, svm: bool = False) -> Callable:
    """Locality-constrained codes over p faces per person, as SRC or for a linear SVM."""
    if svm:
        return _faces(lambda p, q, seed: make_pipeline(RowCodes(LLCCoder(k), p, seed), LinearSVM(random_state=seed)))
    return _faces(lambda p, q, seed: RepresentationClassifier(LLCCoder(k), p, seed))


def _bayesian(joint: bool) -> Callable:
    return _faces(lambda p, q, seed: BayesianDictionary(joint, q, random_state=seed))


def _csdl(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    faces = RandomFaces(power=0.5, random_state=seed)
    return make_pipeline(faces, RepresentationClassifier(LassoCoder(0.001), None, seed, atoms_per_class=q))


def _codebook(coder: BaseEstimator, pooling: BaseEstimator | None = None) -> Callable:
    def make(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
        descriptor = clone(get_preset("paper").channels[0].descriptor)
        features = CodebookFeatures(1024, clone(coder), pooling, descriptor, seed, n_jobs)
        return make_pipeline(features, LinearSVM(random_state=seed, n_jobs=n_jobs))

    return make


def _spm(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    parts = KernelCoder(n_neighbors=1), HistogramPyramid(), DenseSIFT(16, 8, contrast_threshold=0.05)
    return make_pipeline(PyramidHistograms(200, *parts, seed, n_jobs), IntersectionSVM(n_jobs=n_jobs))


def _fisher(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    sift = DenseSIFT((16, 24, 32), 4, contrast_threshold=0.05)
    features = FisherVectors(descriptor=sift, random_state=seed, n_jobs=n_jobs)
    return make_pipeline(features, LinearSVM(C=10.0, random_state=seed, n_jobs=n_jobs))


def _local_nbnn(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    return LocalNBNN(descriptor=DenseSIFT((16, 32), 8, contrast_threshold=0.05), random_state=seed, n_jobs=n_jobs)


def _dcn(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    return make_pipeline(Pixels(), DeepCoding(random_state=seed), LinearSVM(10.0, random_state=seed, n_jobs=n_jobs))


def _features(cls: type[BaseEstimator]) -> Callable:
    """Learnt features of images, and the linear SVM."""
    return lambda p, q, seed, n_jobs: make_pipeline(
        cls(random_state=seed, n_jobs=n_jobs), LinearSVM(random_state=seed, n_jobs=n_jobs)
    )


def _cnn(cls: type[SmallCNN]) -> Callable:
    return lambda p, q, seed, n_jobs: cls(random_state=seed)


def _frozen(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    return make_pipeline(FrozenFeatures(), StandardScaler(), LinearSVM(C="auto", random_state=seed))


def _logistic_probe(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    return make_pipeline(BackboneMean(n_jobs=n_jobs), LogisticProbe(random_state=seed))


def _svm_probe(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    svm = LinearSVM(C="auto", random_state=seed, n_jobs=n_jobs)
    return make_pipeline(BackboneMean(n_jobs=n_jobs), Normalizer(), svm)


METHODS: dict[str, Method] = {
    "ddlcn": Method("the paper's network, two layers, exact codes", ddlcn(), leaks=True),
    "ddlcn-1": Method("its first layer alone", ddlcn(deeper_atoms=()), leaks=True),
    "ddlcn-3": Method("with a third layer of 64 atoms", ddlcn(deeper_atoms=(64, 64)), leaks=True),
    "ddlcn-llc": Method(
        "two layers, LLC's closed form", ddlcn(coder=LLCCoder(15), deeper_coder=LLCCoder(10)), leaks=True
    ),
    "ddlcn-best": Method("two layers, preset best", ddlcn("best"), auto=True),
    "ddlcn-best-llc": Method(
        "preset best, LLC's closed form", ddlcn("best", coder=LLCCoder(20), deeper_coder=LLCCoder(10)), auto=True
    ),
    "ddlcn-best-no-color": Method("preset best without channel color", ddlcn("best", without="color"), auto=True),
    "ddlcn-best-no-covariance": Method(
        "preset best without channel covariance", ddlcn("best", without="covariance"), auto=True
    ),
    "ddlcn-best-no-covariance_grid": Method(
        "preset best without channel covariance_grid", ddlcn("best", without="covariance_grid"), auto=True
    ),
    "ddlcn-best-no-sift_grid": Method(
        "preset best without channel sift_grid", ddlcn("best", without="sift_grid"), auto=True
    ),
    "ddlcn-released": Method("what the authors' code computes", released, leaks=True),
    "mnist-recipe": Method(
        "hard examples, dense patches, elastic copies: for MNIST only",
        lambda p, q, seed, n_jobs: MNISTRecipe(p, q, random_state=seed, n_jobs=n_jobs),
    ),
    "llc": Method(
        "LLC with 5 neighbours on class-wise dictionaries", ddlcn(deeper_atoms=(), coder=LLCCoder(5)), leaks=True
    ),
    "llc-1024": Method("LLC with 5 neighbours on one codebook of 1024", _codebook(LLCCoder(5)), ""),
    "scspm": Method("sparse codes on a codebook of 1024", _codebook(LassoCoder(0.15, absolute=True)), ""),
    "lscspm": Method("sparse codes that neighbours share", _codebook(LaplacianCoder(0.15, absolute=True)), ""),
    "kc": Method("kernel codebook of 1024, mean-pooled", _codebook(KernelCoder(), MeanPyramid()), ""),
    "llc-30": Method("LLC with 30 local bases on random faces", _bases(30), "p"),
    "llc-70": Method("LLC with 70 local bases on random faces", _bases(70), "p"),
    "llc-30-svm": Method("linear SVM on LLC codes over 30 local bases", _bases(30, svm=True), "p"),
    "llc-70-svm": Method("linear SVM on LLC codes over 70 local bases", _bases(70, svm=True), "p"),
    "src": Method(
        "sparse representation over p faces per person",
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
    "l0-proximal": Method(
        "multi-block alternating proximal steps on an ℓ₀ problem",
        _faces(lambda p, q, seed: ProximalDictionary(q, random_state=seed)),
        "q",
    ),
    "dbdl": Method("Bayesian dictionary, then its classifier", _bayesian(joint=False), "q"),
    "jbdc": Method("Bayesian dictionary and classifier together", _bayesian(joint=True), "q"),
    "csdl-src": Method("SRC over q learnt faces per person, on square roots of pixels", _csdl, "q"),
    "dpl": Method("dictionary pairs", _faces(lambda p, q, seed: DictionaryPairs(q, random_state=seed)), "q"),
    "pcanet-1": Method("principal filters, one stage", lambda p, q, seed, n_jobs: PCANet(1, n_jobs=n_jobs), ""),
    "pcanet-2": Method("principal filters, two stages", lambda p, q, seed, n_jobs: PCANet(2, n_jobs=n_jobs), ""),
    "m-hmp": Method("matching pursuit along two paths", _features(MultipathFeatures), ""),
    "convolutional-clustering": Method("clustered filters, two layers", _features(ClusteredFilters), ""),
    "fisher": Method("Fisher vectors of SIFT, linear SVM", _fisher, ""),
    "local-nbnn": Method("nearest neighbours of SIFT descriptors", _local_nbnn, ""),
    "spm": Method("pyramid of 200 visual words, histogram-intersection kernel", _spm, ""),
    "dcn": Method("two layers of local coordinates of pixels", _dcn, ""),
    "cnn": Method("a small CNN trained from scratch (needs torch)", _cnn(SmallCNN), ""),
    "embed-cnn": Method("the same with an embedding term (needs torch)", _cnn(EmbedCNN), ""),
    "frozen-vgg": Method("linear SVM on a pretrained VGG's maps (torch, weights)", _frozen, ""),
    "probe-lr": Method("logistic regression on a frozen network's mean (onnxruntime)", _logistic_probe, ""),
    "probe-svm": Method("linear SVM on a frozen network's mean (onnxruntime)", _svm_probe, ""),
    "ddlcn-backbone": Method(
        "preset best with a frozen network's maps (onnxruntime)",
        lambda p, q, seed, n_jobs: DDLCNClassifier(backbone=NETWORK, random_state=seed, n_jobs=n_jobs),
        "",
    ),
    "rrc-l1": Method("robust coding on 300 eigenfaces", _rows(Pixels(54), RobustCoding()), ""),
    "nearest": Method("nearest neighbour on pixels", _rows(Pixels(), KNeighborsClassifier(1)), ""),
    "ridge": Method("ridge regression of labels on pixels", _rows(Pixels(), RidgeClassifier()), ""),
    "svm": Method("linear SVM on pixels", _rows(Pixels(), LinearSVM(C="auto")), ""),
    "hog": Method("linear SVM on gradient histograms", _rows(GradientHistograms(), LinearSVM(C="auto")), ""),
}

FROZEN = ("frozen-vgg", "probe-lr", "probe-svm", "ddlcn-backbone")  # on networks that were trained elsewhere


def get_method(name: str) -> Method:
    """Return the method of a name, with the parameters that follow it.

    Parameters
    ----------
    name : str
        As in `ddlcn` or `ddlcn:sift__coder__beta=0.05`.

    Returns
    -------
    Method

    Raises
    ------
    DDLCNError
        If there is no such method or parameter.

    Examples
    --------
    >>> model = get_method("ddlcn:sift__coder__beta=0.05+C=10.0").make(1, 2, 0, None)
    >>> model.channels[0].coder, model.C
    (LocalityCoder(beta=0.05), 10.0)
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
