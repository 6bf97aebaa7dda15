"""Presets: ready-made lists of channels with deskewing, augmentation and C. Nothing here is tuned to one data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import Any

from ddlcn.channel import Channel
from ddlcn.descriptors.backbone import Backbone
from ddlcn.descriptors.color import ColorStatistics
from ddlcn.descriptors.efficientnet import NETWORKS
from ddlcn.descriptors.joint import JointDescriptor
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LinearCoder, LocalityCoder
from ddlcn.layers.covariance import LogCovariance
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


def paper(backbone: str | None = None, **dictionary: Any) -> Preset:
    """The paper's network: one channel, `sift`, two layers, exact codes over 15 atoms, C = 1.

    Settings are the paper's, and those of the authors' code where it is silent; for β, which neither gives, a
    middle value. Images of less than 48 pixels have a shorter step, where the authors' leaves 9 patches of a digit.

    Parameters
    ----------
    backbone : str, optional
        Adds the channels of a frozen network (see `best`).
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
    return Preset((sift, *_backbone_channels(backbone, dictionary)), deskew=False, augmentation="none", C=1.0)


def best(backbone: str | None = None, **dictionary: Any) -> Preset:
    """The default: `sift` and `color` with minima beside maxima, `sift_grid`, `covariance` and `covariance_grid`.

    Patches have several sizes. Those that are encoded over the atoms of all classes (`sift`, `color`) are further
    apart, because that takes the most time. All else is left to selection.

    Parameters
    ----------
    backbone : str, optional
        Adds the channels `backbone` and `backbone_mean`, of a frozen network: "efficientnet-lite0", …, or the path
        of an ONNX file (see `Backbone`).
    **dictionary
        Parameters of `DictionaryLearning`, as in `atoms_per_class=30`.

    Returns
    -------
    Preset
    """
    patches: Any = {"patch_size": (16, 24, 32), "step": 8, "max_side": 200, "min_side": 72}
    coded = patches | {"step": 12}
    sift = Channel(
        "sift",
        DenseSIFT(**coded, contrast_threshold=0.1),
        LocalityCoder(20, beta=0.05),
        SpatialPyramid((1, 2, 4, 8), minima=True),
        DictionaryLearning(**dictionary),
        deeper_coder=LocalityCoder(10, beta=0.05),
        power=0.5,
    )
    dense = DenseSIFT(**patches, contrast_threshold=0.1)
    sift_grid = Channel("sift_grid", dense, LinearCoder(), MeanGrid(16), dictionary="sift", power=0.5, weight="auto")
    color = replace(
        sift,
        name="color",
        descriptor=ColorStatistics(**coded),
        pooling=SpatialPyramid((1, 2, 4), minima=True),
        weight="auto",
    )
    joint = JointDescriptor(**patches, contrast_threshold=0.1)
    covariance = Channel("covariance", joint, None, LogCovariance(), weight="auto")
    covariance_grid = replace(covariance, name="covariance_grid", pooling=LogCovariance(side=3))
    channels = (sift, sift_grid, color, covariance, covariance_grid)
    return Preset((*channels, *_backbone_channels(backbone, dictionary)))


def _backbone_channels(network: str | None, dictionary: dict[str, Any]) -> list[Channel]:
    """Channels of a frozen network: locality codes of the places of a map, and the mean of square roots of its last."""
    if network is None:
        return []
    codes = Channel(
        "backbone",
        Backbone(network, output="stage7" if network in NETWORKS else None).resolved(),
        LocalityCoder(30, beta=0.05),
        SpatialPyramid((1, 2)),
        DictionaryLearning(**{"max_descriptors": 1000, "n_components": 128} | dictionary),
        deeper_coder=LocalityCoder(10, beta=0.05),
        power=0.5,
        weight="auto",
    )
    last = Backbone(network).resolved()
    return [codes, Channel("backbone_mean", last, None, MeanGrid(1), power=0.5, weight="auto")]


PRESETS = {"best": best, "paper": paper}


def get_preset(name: str, backbone: str | None = None, **dictionary: Any) -> Preset:
    """Return a preset by name.

    Parameters
    ----------
    name : "best" or "paper"
    backbone : str, optional
        A frozen network, by name or as the path of an ONNX file.
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
    return PRESETS[name](backbone, **dictionary)


def settings_of(model: Any) -> Preset:
    """Return the preset of a classifier with the parameters that are given in its place, checked.

    Raises
    ------
    DDLCNError
        If a parameter is invalid.
    """
    if model.backbone is not None and model.channels is not None:
        raise DDLCNError(
            f"backbone={model.backbone!r}: leave it out with channels=; give presets.best(backbone=…).channels"
        )
    dictionary = {name: getattr(model, name) for name in ("images_per_class", "atoms_per_class", "deeper_atoms")}
    preset = get_preset(model.preset, model.backbone, **dictionary)
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
    for channel in settings.channels:
        channel.check()
        allowed = getattr(channel.descriptor, "policies", None)
        if allowed and settings.augmentation not in (*allowed, "auto"):
            known = ", ".join(map(repr, allowed))
            raise DDLCNError(
                f'augmentation={settings.augmentation!r}: with channel {channel.name!r}, one of {known}, "auto"'
            )
    if not (model.class_weight in (None, "balanced") or isinstance(model.class_weight, dict)):
        raise DDLCNError(f'class_weight={model.class_weight!r}: must be None, "balanced" or a dict of class weights')
    return settings
