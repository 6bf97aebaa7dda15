"""Which channels and which preprocessing suit the images, before anything is learnt from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ddlcn.channel import Channel
from ddlcn.descriptors.color import grey_by_class_score, has_color
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.images import LEAST_SIDE, DecodedImage, take
from ddlcn.layers.pooling import MeanGrid
from ddlcn.learning import Images, Range, Size, encode
from ddlcn.preprocessing.deskew import deskewed_size
from ddlcn.selection import Selection

_COLOR_SAMPLE = 100  # images that are examined for colour, but at least three of each class
_COLORED = 0.1  # share of images with colour from which on colour is described


def suited_channels(
    channels: Sequence[Channel], choose: Selection, value_range: Range, images: Images, run: Any
) -> tuple[Channel, ...]:
    """The channels, with colour only if a tenth of the images have any; a warning if colour follows the class."""
    grey = [getattr(channel.descriptor, "for_grey", lambda own=channel.descriptor: own)() for channel in channels]
    if all(own is channel.descriptor for own, channel in zip(grey, channels, strict=True)):
        return tuple(channels)
    with run.time("colour"):
        sample = choose.some_of_each_class(_COLOR_SAMPLE)
        colored = np.array([has_color(DecodedImage(images[i], value_range, LEAST_SIDE).rgb()) for i in sample])
    share = float(colored.mean())
    choose.fixed("color", share >= _COLORED, f"{share:.0%} of the images that were examined have colour")
    if grey_by_class_score(colored, choose.y[sample]) == 1:
        what = "some classes have grey images only and others colour images only"
        warnings.warn(
            f"{what}: the model may learn the kind of camera; use the same kind of images for all", stacklevel=4
        )
    if share >= _COLORED:
        return tuple(channels)
    suited = tuple(replace(c, descriptor=own) for c, own in zip(channels, grey, strict=True) if own is not None)
    if not suited:
        raise DDLCNError("the images have no colour, which all channels need: add a channel such as sift")
    return suited


def choose_deskew(
    setting: bool | str, choose: Selection, channels: Sequence[Channel], value_range: Range, images: Images, run: Any
) -> Size | None:
    """The size that foregrounds are deskewed to, or None; compared by descriptors on a grid, without encoding.

    The descriptors are those of the first channel with a grid, or of the first channel.
    """
    if setting is False:
        return choose.fixed("deskew", None, "given, or by the preset")
    with run.time("deskew"):
        sample = take(images, choose.sample)
        grey = (DecodedImage(image, value_range, LEAST_SIDE).grey() for image in sample)
        size = deskewed_size(grey, len(sample))
        if setting is True:
            why = "" if size else ", but the images have no foreground on a uniform background"
            return choose.fixed("deskew", size, f"given{why}")
        channel = next((each for each in channels if isinstance(each.pooling, MeanGrid)), channels[0])
        grid = Channel("grid", channel.descriptor, None, MeanGrid(), power=channel.power)

        def encoded(deskew: Size | None) -> csr_array:
            encoder = ImageEncoder((grid,), (1.0,), value_range, deskew)
            return run.assemble(encode(encoder, sample, run, stage="Deskew"), encoder.n_features)

        return choose.deskew(size, encoded)
