"""Every method that `ddlcn bench` can run, by name.

A method makes a scikit-learn estimator on images: `fit(images, labels)` and `predict(images)`. If it also has
the stages of `DDLCNClassifier` (`learn`, `transform`, `train`, `svm_`), then rows of a bench that differ in t
alone share its features, and methods with equal first layers share their dictionaries.

A name may go on with parameters to change, as in `ddlcn:beta=0.05+neighbors=(5,10)`.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator, clone

from ddlcn.baselines.released import ReleasedClassifier
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
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
