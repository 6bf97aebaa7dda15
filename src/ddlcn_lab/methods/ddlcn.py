"""Our classifier as a method: the presets with other layers or coders, and what the authors' code computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from ddlcn.classifier import DDLCNClassifier
from ddlcn.layers.coding import LocalityCoder
from ddlcn.presets import get_preset
from ddlcn_lab.methods.released import ReleasedChannel, ReleasedClassifier, ReleasedCoder


def ddlcn(preset: str = "paper", deeper_atoms: tuple[int, ...] = (64,), without: str = "", **coders: Any) -> Callable:
    """Return what makes a classifier whose channels are given, so that they have nested parameters.

    The channel `without` is left out; `coders` replace those of channels with locality codes.
    """

    def make(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
        counts: dict[str, Any] = {"images_per_class": p, "atoms_per_class": q} if q else {}
        found = get_preset(preset, deeper_atoms=deeper_atoms, **counts)
        channels = [
            channel.with_params(**coders) if isinstance(channel.coder, LocalityCoder) else channel
            for channel in found.channels
            if channel.name != without
        ]
        return DDLCNClassifier(preset, channels, random_state=seed, n_jobs=n_jobs)

    return make


def released(p: int | None, q: int, seed: int, n_jobs: int | None) -> BaseEstimator:
    """Make the classifier of the authors' code."""
    paper = get_preset("paper", images_per_class=p, atoms_per_class=q, deeper_atoms=(32,)).channels[0]
    coders: dict[str, Any] = {"coder": ReleasedCoder(15), "deeper_coder": ReleasedCoder(10)}
    channel = ReleasedChannel(**paper.get_params(deep=False) | coders)
    return ReleasedClassifier("paper", [channel], random_state=seed, n_jobs=n_jobs)
