"""What a preset stands for. One preset serves all data sets; nothing here is tuned to one of them."""

from __future__ import annotations

from dataclasses import dataclass

from ddlcn.errors import DDLCNError
from ddlcn.layers.sift import DenseSIFT


@dataclass(frozen=True)
class Preset:
    """Values for the parameters that a `DDLCNClassifier` leaves to its preset."""

    descriptor: DenseSIFT
    neighbors: tuple[int, ...] = (15, 10)
    pyramid: tuple[int, ...] = (1, 2, 4)
    coder: str = "exact"
    beta: float = 0.01
    min_channel: bool = False
    power: float = 1.0
    deep: float | str = 0.0
    copies: str = "none"
    C: float | str = 1.0
    most_descriptors: int = 100_000  # that the dictionary of a class is learnt on


PRESETS = {
    # the paper's settings, the authors' where it is silent; for β, which neither gives, a middle value; and a
    # shorter step in images of less than 48 pixels, where the authors' leaves 9 patches of a digit
    "paper": Preset(descriptor=DenseSIFT(min_steps=8)),
    # chosen on held-out parts of training images (Extended Yale B, AR, MNIST, ten classes of Caltech-256)
    "best": Preset(
        descriptor=DenseSIFT(patch_size=(16, 24, 32), step=8, min_side=72, contrast_threshold=0.1),
        neighbors=(30, 10),
        pyramid=(1, 2, 4, 8),
        beta=0.05,
        min_channel=True,
        power=0.5,
        deep="cv",
        copies="cv",
        C="cv",
        most_descriptors=20_000,
    ),
}


def get_preset(name: str) -> Preset:
    """The preset of that name.

    >>> get_preset("paper").pyramid
    (1, 2, 4)
    """
    if name not in PRESETS:
        raise DDLCNError(f"preset={name!r}: unknown; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
