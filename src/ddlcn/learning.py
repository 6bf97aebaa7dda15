"""The steps of training between images and the SVM: dictionaries, features, augmented copies.

Work is cut into tasks, functions that depend on their arguments only, and given to `run` (see
`execution.Run`), which maps them over threads, a work folder or a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from ddlcn.channel import Channel
from ddlcn.encoder import ImageEncoder, warp_of
from ddlcn.errors import DDLCNError
from ddlcn.images import read_grey, take
from ddlcn.layers.dictionary import DictionaryLearning, class_seeds
from ddlcn.layers.pooling import MeanGrid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.augmentation import Augmentation, copies
from ddlcn.preprocessing.deskew import deskewed_size
from ddlcn.selection import Selection

_LARGEST_TASK, _TASKS = 256, 64  # images per task, and tasks if that allows; no result depends on them
_ROWS_AT_ONCE = 512  # that are rescaled

Images = Sequence[Any]
Size = tuple[float, float]
Range = tuple[float, float]


# ----------------------------------------------------------------------------------------------------- tasks


def learn_class(
    images: Images,
    descriptor: DenseSIFT,
    value_range: Range,
    deskew: Size | None,
    dictionary: DictionaryLearning,
    seed: int,
) -> np.ndarray:
    """Learn the dictionary of one class (Eq. 2)."""
    warp, greys = warp_of(None, deskew), (read_grey(image, value_range=value_range) for image in images)
    return dictionary.learn([descriptor.describe(grey, (0.0, 1.0), warp).values for grey in greys], seed)


def encode_images(encoder: ImageEncoder, images: Images, augmentations: Sequence[Augmentation]) -> csr_array:
    """Encode some images."""
    return encoder.transform(images, augmentations)


# ----------------------------------------------------------------------------------------------------- steps


def learn_encoder(
    channels: Sequence[Channel],
    deskew: Size | None,
    value_range: Range,
    images: Images,
    y: np.ndarray,
    seed: int,
    run: Any,
) -> ImageEncoder:
    """Learn the dictionaries of all channels (Eqs. 2 to 4); every weight is 1.

    A channel that uses the deeper dictionaries of another is left out if there are none.
    """
    learnt: dict[str, Channel] = {}
    with run.time("dictionaries"):
        for channel in channels:
            if isinstance(channel.dictionary, DictionaryLearning):
                atoms = _first_dictionary(channel, deskew, value_range, images, y, seed, run)
                atom_classes = np.repeat(np.arange(y.max() + 1, dtype=np.int32), channel.dictionary.counts[1])
                learnt[channel.name] = channel.learnt(channel.dictionary.learn_deeper(atoms, seed), atom_classes)
    found = [_with_dictionaries(channel, learnt) for channel in channels]
    used = tuple(channel for channel in found if channel is not None)
    return ImageEncoder(used, (1.0,) * len(used), value_range, deskew)


def _first_dictionary(
    channel: Channel, deskew: Size | None, value_range: Range, images: Images, y: np.ndarray, seed: int, run: Any
) -> np.ndarray:
    """V: a dictionary per class, side by side."""
    dictionary, calls = channel.dictionary, []
    assert isinstance(dictionary, DictionaryLearning)
    first = clone(dictionary).set_params(images_per_class=None, deeper_atoms=())  # equal tasks have equal keys
    for c, own in enumerate(class_seeds(seed, y.max() + 1)):
        drawn = np.random.RandomState(own).permutation(np.flatnonzero(y == c))[: dictionary.counts[0]]
        chosen = take(images, np.sort(drawn))
        calls.append((chosen, channel.descriptor, value_range, deskew, first, int(own)))
    return np.concatenate(list(run.map("dictionary", learn_class, calls, "Dictionaries")))


def _with_dictionaries(channel: Channel, learnt: dict[str, Channel]) -> Channel | None:
    if not isinstance(channel.dictionary, str):
        return learnt.get(channel.name, channel)
    if channel.dictionary not in learnt:
        raise DDLCNError(f"channel {channel.name!r} uses the dictionaries of {channel.dictionary!r}: add that channel")
    deeper = learnt[channel.dictionary].dictionaries[1:]
    return channel.learnt(deeper) if deeper else None


def encode(
    encoder: ImageEncoder, images: Images, run: Any, augmentations: Sequence[Augmentation] = (), stage: str = "Encoding"
) -> Iterator[csr_array]:
    """Encode images, or an augmented copy of each, in parts."""
    size = min(_LARGEST_TASK, max(4, -(-len(images) // _TASKS)))
    starts = range(0, len(images), size)
    calls = [(encoder, images[at : at + size], augmentations[at : at + size]) for at in starts]
    return run.map("features", encode_images, calls, stage)


def encoded(encoder: ImageEncoder, images: Images, run: Any) -> csr_array:
    """The rows of all images."""
    with run.time("encoding"):
        return run.assemble(encode(encoder, images, run), encoder.n_features)


def choose_deskew(
    setting: bool | str, choose: Selection, channel: Channel, value_range: Range, images: Images, run: Any
) -> Size | None:
    """The size that foregrounds are deskewed to, or None; compared by descriptors on a grid, without encoding."""
    if setting is False:
        return choose.fixed("deskew", None, "given, or by the preset")
    with run.time("deskew"):
        sample = take(images, choose.sample)
        size = deskewed_size((read_grey(image, value_range=value_range) for image in sample), len(sample))
        if setting is True:
            why = "" if size else ", but the images have no foreground on a uniform background"
            return choose.fixed("deskew", size, f"given{why}")
        grid = Channel("grid", channel.descriptor, None, MeanGrid(), power=channel.power)

        def encoded(deskew: Size | None) -> csr_array:
            encoder = ImageEncoder((grid,), (1.0,), value_range, deskew)
            return run.assemble(encode(encoder, sample, run, stage="Deskew"), encoder.n_features)

        return choose.deskew(size, encoded)


def weighted(encoder: ImageEncoder, rows: csr_array, choose: Selection, run: Any) -> tuple[ImageEncoder, csr_array]:
    """The encoder with the weights of its channels, and its rows."""
    with run.time("weights"):
        found = encoder.with_weights(choose.weights(encoder, rows[choose.sample]))
        if found.scales == encoder.scales:
            return found, rows
        starts = range(0, rows.shape[0], _ROWS_AT_ONCE)
        parts = (encoder.rescaled(rows[at : at + _ROWS_AT_ONCE], found) for at in starts)
        return found, run.assemble(parts, found.n_features)


def augmented(
    setting: str,
    encoder: ImageEncoder,
    images: Images,
    rows: csr_array,
    choose: Selection,
    run: Any,
    total: int | None = None,
) -> tuple[str, csr_array, np.ndarray]:
    """The policy of augmentation; rows of images, then of their copies; and the image of each row (groups)."""

    def parts(chosen: np.ndarray, augmentations: tuple[Augmentation, ...]) -> Iterator[csr_array]:
        return encode(encoder, take(images, chosen), run, augmentations, "Augmentation")

    with run.time("augmentation"):
        policy, done, encoded = setting, np.empty(0, np.int64), None
        if setting == "auto":
            policy, done, encoded = choose.augmentation(
                rows[choose.sample], lambda *each: run.assemble(parts(*each), encoder.n_features)
            )
        else:
            choose.fixed("augmentation", setting, "given, or by the preset")
        copied, augmentations = copies(policy, choose.y, total)
        if not augmentations:
            return policy, rows, np.arange(len(choose.y))
        rest = np.setdiff1d(np.arange(len(copied)), done)
        more = parts(copied[rest], tuple(augmentations[copy] for copy in rest)) if len(rest) else ()
        every = chain([rows], [] if encoded is None else [encoded], more)
        groups = np.concatenate([np.arange(len(choose.y)), copied[done], copied[rest]])
        return policy, run.assemble(every, encoder.n_features), groups
