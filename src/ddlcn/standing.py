"""Whether figures stand upright (see `layers.upright`).

Of a digit it matters what it is, not how it leans; a person who leans may be that person for it. So held-out
training images are asked, if they have figures on plain ground at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ddlcn.held_out import Judge, sure_gain
from ddlcn.layers.rows import Rows
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.upright import filling, typical


def upright(descriptor: DenseSIFT, pictures: Iterable[np.ndarray], n_pictures: int) -> DenseSIFT | None:
    """The descriptor that stands figures upright, by the typical size in some grey images; or None."""
    size = typical(map(descriptor.shrink, pictures), n_pictures)
    return None if size is None else descriptor.but(upright=filling(*size))


def choose(
    judge: Judge, given: DenseSIFT, standing: DenseSIFT, code: Callable[[DenseSIFT], Rows]
) -> DenseSIFT:
    """The one of two descriptors that a judge takes, by what they make of the images of its sample.

    Where it has nobody to hold out, figures stand: of most that are drawn, how they lean says nothing.
    """
    before, after = (judge.likelihoods(judge.products(code(each))) for each in (given, standing))
    return given if len(before) and sure_gain(after, before) <= 0 else standing
