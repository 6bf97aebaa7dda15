"""What a preset stands for. One preset serves all data sets; nothing here is tuned to one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ddlcn import copies, deep
from ddlcn.errors import DDLCNError
from ddlcn.layers.coding import LLCCoder, LocalityCoder
from ddlcn.layers.network import Coder, Network
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT


@dataclass(frozen=True)
class Settings:
    """The parameters of a `DDLCNClassifier` that it may leave to its preset."""

    descriptor: DenseSIFT
    neighbors: tuple[int, ...] = (15, 10)
    pyramid: tuple[int, ...] = (1, 2, 4)
    coder: str = "exact"
    beta: float = 0.01
    min_channel: bool = False
    power: float = 1.0
    deep: float | str = 0.0
    upright: bool | str = False
    copies: str = "none"
    C: float | str = 1.0
    most_descriptors: int = 100_000  # that the dictionary of a class is learnt on
    search: float = 1.0  # share of very many atoms that a descriptor is compared with
    hard: bool = False  # of very many images, only those train that are hard at a glance

    def check(self, n_layers: int) -> None:
        """Raise on what cannot be."""
        if self.copies not in ("cv", *copies.KINDS):
            known = ", ".join(map(repr, copies.KINDS))
            raise DDLCNError(f'copies={self.copies!r}: unknown; choose one of {known} or "cv"')
        if self.upright not in (True, False, "cv"):
            raise DDLCNError(f'upright={self.upright!r}: must be True, False or "cv"')
        if self.deep != "cv" and (isinstance(self.deep, str) or not 0 <= self.deep <= deep.LONGEST):
            raise DDLCNError(f'deep={self.deep!r}: must be a number from 0 to {deep.LONGEST:g}, or "cv"')
        if self.deep != "cv" and self.deep and n_layers == 1:
            raise DDLCNError(f"deep={self.deep}: there are no deeper atoms; set deeper_atoms, or deep=0")
        if not self.power > 0:
            raise DDLCNError(f"power={self.power}: must be positive; 1 leaves codes as they are")
        if not len(self.neighbors):
            raise DDLCNError("neighbors=(): give the number of nearest atoms for each layer, as in (15, 10)")
        if self.coder not in ("exact", "llc"):
            raise DDLCNError(f'coder={self.coder!r}: unknown; choose "exact" or "llc"')

    def network(self, dictionaries: Sequence[np.ndarray], expand: bool) -> Network:
        """The network of learnt dictionaries; a deep channel that is to be chosen is left out yet."""
        return Network(
            dictionaries,
            [self._layer_coder(layer) for layer in range(len(dictionaries))],
            SpatialPyramid(self.pyramid),
            self.min_channel,
            expand,
            float(self.power),
            0.0 if isinstance(self.deep, str) else float(self.deep),
            self.search,
        )

    def _layer_coder(self, layer: int) -> Coder:
        n_neighbors = self.neighbors[min(layer, len(self.neighbors) - 1)]
        return LocalityCoder(n_neighbors, self.beta) if self.coder == "exact" else LLCCoder(n_neighbors)


PRESETS = {
    # the paper's settings, the authors' where it is silent; for β, which neither gives, a middle value; and a
    # shorter step in images of less than 48 pixels, where the authors' leaves 9 patches of a digit
    "paper": Settings(descriptor=DenseSIFT(min_steps=8)),
    # chosen on held-out parts of training images (Extended Yale B, AR, MNIST, ten classes of Caltech-256)
    "best": Settings(
        descriptor=DenseSIFT(patch_size=(16, 24, 32), step=8, min_side=72, contrast_threshold=0.1),
        neighbors=(30, 10),
        pyramid=(1, 2, 4, 8),
        beta=0.05,
        min_channel=True,
        power=0.5,
        deep="cv",
        upright="cv",
        copies="cv",
        C="cv",
        most_descriptors=20_000,
        search=0.1,
        hard=True,
    ),
}


def get_preset(name: str) -> Settings:
    """The preset of that name.

    >>> get_preset("paper").pyramid
    (1, 2, 4)
    """
    if name not in PRESETS:
        raise DDLCNError(f"preset={name!r}: unknown; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def settings_of(model: Any) -> Settings:
    """The parameters of a classifier, and its preset's for those that are None, checked."""
    given = {field.name: getattr(model, field.name, None) for field in fields(Settings)}
    known = {name: value for name, value in given.items() if value is not None}
    settings = replace(get_preset(model.preset), **known)
    settings.check(1 + len(model.deeper_atoms))
    return settings
