"""Presets: ready-made lists of channels with deskewing, augmentation and C. Nothing here is tuned to one data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import Any

from ddlcn.channel import Channel
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LinearCoder, LocalityCoder
from ddlcn.layers.dictionary import DictionaryLearning
from ddlcn.layers.pooling import MeanGrid, SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.augmentation import check_policy


@dataclass(frozen=True)
class Preset:
    """Channels, and what happens beside them; "auto" is chosen on held-out training images."""

    channels: tuple[Channel, ...]
    deskew: bool | str = "auto"
    augmentation: str = "auto"
    C: float | str = "auto"


def paper(**dictionary: Any) -> Preset:
    """The paper's network: one channel, `sift`, two layers, exact codes over 15 atoms, C = 1.

    Settings are the paper's, and those of the authors' code where it is silent; for β, which neither gives, a
    middle value. Images of less than 48 pixels have a shorter step, where the authors' leaves 9 patches of a digit.

    Parameters
    ----------
    **dictionary
        Parameters of `DictionaryLearning`, as in `atoms_per_class=30`.

    Returns
    -------
    Preset
    """
    sift = Channel(
        "sift",
        DenseSIFT(min_steps=8),
        LocalityCoder(15, beta=0.01),
        SpatialPyramid((1, 2, 4)),
        DictionaryLearning(**{"max_descriptors": 100_000} | dictionary),
        deeper_coder=LocalityCoder(10, beta=0.01),
    )
    return Preset((sift,), deskew=False, augmentation="none", C=1.0)


def best(**dictionary: Any) -> Preset:
    """The default: `sift` at several sizes with minima beside maxima, `sift_grid`, and settings by selection.

    Parameters
    ----------
    **dictionary
        Parameters of `DictionaryLearning`, as in `atoms_per_class=30`.

    Returns
    -------
    Preset
    """
    descriptor = DenseSIFT(patch_size=(16, 24, 32), step=8, min_side=72, contrast_threshold=0.1)
    sift = Channel(
        "sift",
        descriptor,
        LocalityCoder(30, beta=0.05),
        SpatialPyramid((1, 2, 4, 8), minima=True),
        DictionaryLearning(**dictionary),
        deeper_coder=LocalityCoder(10, beta=0.05),
        power=0.5,
    )
    sift_grid = Channel(
        "sift_grid", descriptor, LinearCoder(), MeanGrid(16), dictionary="sift", power=0.5, weight="auto"
    )
    return Preset((sift, sift_grid))


PRESETS = {"best": best, "paper": paper}


def get_preset(name: str, **dictionary: Any) -> Preset:
    """Return a preset by name.

    Parameters
    ----------
    name : "best" or "paper"
    **dictionary
        Parameters of `DictionaryLearning`.

    Returns
    -------
    Preset

    Examples
    --------
    >>> get_preset("paper").C
    1.0
    """
    if name not in PRESETS:
        raise DDLCNError(f"preset={name!r}: unknown; choose one of {', '.join(PRESETS)}")
    return PRESETS[name](**dictionary)


def settings_of(model: Any) -> Preset:
    """Return the preset of a classifier with the parameters that are given in its place, checked.

    Raises
    ------
    DDLCNError
        If a parameter is invalid.
    """
    if model.backbone is not None:
        raise DDLCNError(f"backbone={model.backbone!r}: this version has no frozen networks; leave it out")
    dictionary = {name: getattr(model, name) for name in ("images_per_class", "atoms_per_class", "deeper_atoms")}
    preset = get_preset(model.preset, **dictionary)
    channels: Any = preset.channels if model.channels is None else model.channels
    if not isinstance(channels, list | tuple) or not all(isinstance(channel, Channel) for channel in channels):
        raise DDLCNError(f"channels={model.channels!r}: give a list of Channel, as list(presets.best().channels)")
    names = [channel.name for channel in channels]
    if not names or len(set(names)) < len(names):
        raise DDLCNError(f"channels={names}: give at least one, each with a name of its own")
    given = {name: getattr(model, name) for name in ("deskew", "augmentation", "C")}
    settings = replace(
        preset, channels=tuple(channels), **{name: value for name, value in given.items() if value != "auto"}
    )
    if settings.deskew not in (True, False, "auto"):
        raise DDLCNError(f'deskew={settings.deskew!r}: must be True, False or "auto"')
    if settings.deskew != "auto":
        settings = replace(settings, deskew=bool(settings.deskew))  # also NumPy's, by GridSearchCV
    if settings.C != "auto" and not (isinstance(settings.C, Real) and 0 < settings.C < inf):
        raise DDLCNError(f'C={settings.C!r}: must be a positive number or "auto"')
    check_policy(settings.augmentation)
    if not (model.class_weight in (None, "balanced") or isinstance(model.class_weight, dict)):
        raise DDLCNError(f'class_weight={model.class_weight!r}: must be None, "balanced" or a dict of class weights')
    for channel in channels:
        channel.check()
    return settings
