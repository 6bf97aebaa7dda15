"""The steps of training between images and the SVM: dictionaries, features, augmented copies.

Work is cut into tasks, functions that depend on their arguments only, and given to `run` (see
`execution.Run`), which maps them over threads, a work folder or a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from ddlcn.channel import Channel
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.images import take
from ddlcn.layers.covariance import N_PLACE, LogCovariance
from ddlcn.layers.dictionary import DictionaryLearning, class_seeds, principal_components, reduced
from ddlcn.linear.gram import gram_matrix
from ddlcn.preprocessing.augmentation import Augmentation, copies, suited_policies
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.selection import POLICIES, Selection, first_weight

_LARGEST_TASK, _TASKS = 256, 64  # images per task, and tasks if that allows; no result depends on them
_MOMENTS, _MEASURED = 100, 5  # images that whiten descriptors; and whose patches are counted

Images = Sequence[Any]
Size = tuple[float, float]
Range = tuple[float, float]


# ----------------------------------------------------------------------------------------------------- tasks


def sample_class(
    images: Images, descriptor: Any, value_range: Range, deskew: Size | None, dictionary: DictionaryLearning
) -> np.ndarray:
    """Draw descriptors of one class."""
    prepared = (PreparedImage(image, value_range, None, deskew) for image in images)
    return dictionary.sample([descriptor.describe(image).values for image in prepared])


def learn_class(
    images: Images,
    descriptor: Any,
    value_range: Range,
    deskew: Size | None,
    dictionary: DictionaryLearning,
    seed: int,
) -> np.ndarray:
    """Learn the dictionary of one class from its images (Eq. 2)."""
    return dictionary.learn(sample_class(images, descriptor, value_range, deskew, dictionary), seed)


def learn_reduced_class(
    samples: np.ndarray, projection: tuple[np.ndarray, ...], dictionary: DictionaryLearning, seed: int
) -> np.ndarray:
    """Learn the dictionary of one class from descriptors by their principal components."""
    return dictionary.learn(reduced(samples, *projection), seed)


def sum_moments(images: Images, descriptor: Any, value_range: Range, deskew: Size | None) -> np.ndarray:
    """The sum of the second moments of the descriptors of some images."""
    prepared = (PreparedImage(image, value_range, None, deskew) for image in images)
    return np.sum([LogCovariance.moment(descriptor.describe(image)) for image in prepared], axis=0)


def encode_images(encoder: ImageEncoder, images: Images, augmentations: Sequence[Augmentation]) -> csr_array:
    """Encode some images."""
    return encoder.transform(images, augmentations)


def _is_rows(found: Any, encoder: ImageEncoder, images: Images, _: Any) -> bool:
    return isinstance(found, csr_array) and found.shape == (len(images), encoder.n_features)


def _is_moment(found: Any, _: Any, descriptor: Any, *others: Any) -> bool:
    side = descriptor.n_features + N_PLACE
    return isinstance(found, np.ndarray) and found.dtype == np.float64 and found.shape == (side, side)


def _is_matrix(found: Any, *call: Any, rows: Any = None, columns: int) -> bool:
    typed = isinstance(found, np.ndarray) and found.dtype == np.float32 and found.ndim == 2
    return typed and found.shape == (rows or len(found), columns)


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
    """Learn the dictionaries of all channels (Eqs. 2 to 4); a weight that is free has its default.

    A channel that uses the deeper dictionaries of another is left out if there are none.
    """
    used, learnt = _with_sources(channels), dict[str, Channel]()
    with run.time("dictionaries"):
        for channel in used:
            if isinstance(channel.dictionary, DictionaryLearning):
                learnt[channel.name] = _learnt(channel, deskew, value_range, images, y, seed, run)
    found = tuple(
        channel.learnt(learnt[channel.dictionary].dictionaries[1:])
        if isinstance(channel.dictionary, str)
        else learnt.get(channel.name, channel)
        for channel in used
    )
    with run.time("dictionaries"):
        teaching = np.flatnonzero(~unseen_images(channels, y, seed)) if learnt else np.arange(len(y))
        found = _whitened(found, deskew, value_range, take(images, teaching), run)
    return ImageEncoder(found, tuple(map(first_weight, found)), value_range, deskew)


def _learnt(
    channel: Channel, deskew: Size | None, value_range: Range, images: Images, y: np.ndarray, seed: int, run: Any
) -> Channel:
    """A channel with V, a dictionary per class side by side, the deeper ones, and its projection."""
    n_classes, projection = int(y.max()) + 1, tuple[np.ndarray, ...]()
    dictionary: Any = channel.dictionary
    dictionary = dictionary.resolved(n_classes)
    first = clone(dictionary).set_params(images_per_class=None, deeper_atoms=())  # equal tasks have equal keys
    seeds = [int(own) for own in class_seeds(seed, n_classes)]
    teaching = _teaching_images(dictionary, y, seed)
    calls = [(take(images, rows), channel.descriptor, value_range, deskew, first) for rows in teaching]
    q, described = dictionary.atoms_per_class, partial(_is_matrix, columns=channel.descriptor.n_features)
    if dictionary.n_components is None:
        seeded = [(*call, own) for call, own in zip(calls, seeds, strict=True)]
        learnt = run.map("dictionary", learn_class, seeded, "Dictionaries", partial(described, rows=q))
    else:
        samples = list(run.map("descriptors", sample_class, calls, "Descriptors", described))
        projection = principal_components(np.concatenate(samples), dictionary.n_components)
        dictionary.set_params(n_components=len(projection[1]))  # of few features no more than these
        reduced = [(each, projection, first, own) for each, own in zip(samples, seeds, strict=True)]
        learnt = run.map(
            "dictionary",
            learn_reduced_class,
            reduced,
            "Dictionaries",
            partial(_is_matrix, rows=q, columns=len(projection[1])),
        )
    dictionaries = dictionary.learn_deeper(np.concatenate(list(learnt)), seed)
    atom_classes = np.repeat(np.arange(n_classes, dtype=np.int32), dictionary.atoms_per_class)
    return replace(channel, dictionary=dictionary, projection=projection).learnt(dictionaries, atom_classes)


def _whitened(
    channels: Sequence[Channel], deskew: Size | None, value_range: Range, images: Images, run: Any
) -> tuple[Channel, ...]:
    """The channels; those of covariances know how their descriptors are whitened, by some of the images."""
    images = take(images, np.linspace(0, len(images) - 1, min(_MOMENTS, len(images))).astype(int))
    parts = [images[at : at + 8] for at in range(0, len(images), 8)]
    known = dict[str, tuple[np.ndarray, int]]()  # moment and number of patches, by descriptor

    def whitened(channel: Channel) -> Channel:
        descriptor = channel.descriptor
        if (key := str(descriptor.to_dict())) not in known:
            calls = [(part, descriptor, value_range, deskew) for part in parts]
            moment = sum(run.map("moments", sum_moments, calls, "Covariance", _is_moment)) / len(images)
            some = images[:: -(-len(images) // _MEASURED)]
            described = (descriptor.describe(PreparedImage(image, value_range, None, deskew)) for image in some)
            known[key] = moment, int(np.median([len(each.values) for each in described]))
        whitening = channel.pooling.whitening(*known[key])
        return replace(channel.with_params(pooling__n_components=len(whitening)), projection=(whitening,))

    return tuple(whitened(c) if isinstance(c.pooling, LogCovariance) else c for c in channels)


def _teaching_images(dictionary: DictionaryLearning, y: np.ndarray, seed: int) -> list[np.ndarray]:
    """The images of each class that its dictionary is learnt from; those of channels overlap as far as they can."""
    found, n_classes = [], int(y.max()) + 1
    for c, own in enumerate(class_seeds(seed, n_classes)):
        rows = np.random.RandomState(own).permutation(np.flatnonzero(y == c))
        found.append(np.sort(rows[: dictionary.n_images(len(rows))]))
    return found


def unseen_images(channels: Sequence[Channel], y: np.ndarray, seed: int) -> np.ndarray:
    """For each image, whether no dictionary is learnt from it."""
    unseen = np.ones(len(y), np.bool_)
    for channel in channels:
        if isinstance(channel.dictionary, DictionaryLearning):
            dictionary = channel.dictionary.resolved(int(y.max()) + 1)
            unseen[np.concatenate(_teaching_images(dictionary, y, seed))] = False
    return unseen


def _with_sources(channels: Sequence[Channel]) -> list[Channel]:
    """The channels without those that use the deeper dictionaries of another which has none."""
    sources = {channel.name: channel.dictionary for channel in channels}
    found = []
    for channel in channels:
        name = channel.dictionary
        source = sources.get(name) if isinstance(name, str) else None
        if isinstance(name, str) and not isinstance(source, DictionaryLearning):
            raise DDLCNError(f"channel {channel.name!r} uses the dictionaries of {name!r}: add that channel")
        if not isinstance(source, DictionaryLearning) or source.deeper_atoms:
            found.append(channel)
    return found


def encode(
    encoder: ImageEncoder, images: Images, run: Any, augmentations: Sequence[Augmentation] = (), stage: str = "Encoding"
) -> Iterator[csr_array]:
    """Encode images, or an augmented copy of each, in parts."""
    size = min(_LARGEST_TASK, max(4, -(-len(images) // _TASKS)))
    starts = range(0, len(images), size)
    calls = [(encoder, images[at : at + size], augmentations[at : at + size]) for at in starts]
    return run.map("features", encode_images, calls, stage, _is_rows)


def encoded(encoder: ImageEncoder, images: Images, run: Any) -> csr_array:
    """The rows of all images."""
    with run.time("encoding"):
        return run.assemble(encode(encoder, images, run), encoder.n_features)


def channel_grams(encoder: ImageEncoder, rows: csr_array, sample: np.ndarray, run: Any) -> list[np.ndarray]:
    """Gram matrices of the blocks of each channel, of unit length, for a sample of the rows."""
    pairs = zip(encoder.slices, encoder.scales, strict=True)
    return [gram_matrix(rows, run.n_jobs, sample, own) / np.float32(scale**2) for own, scale in pairs]


def weighted(encoder: ImageEncoder, rows: csr_array, choose: Selection, run: Any) -> tuple[ImageEncoder, csr_array]:
    """The encoder with chosen weights of channels, without those of weight zero; and rows by it."""
    with run.time("weights"):
        weights = choose.weights(encoder.channels, lambda: channel_grams(encoder, rows, choose.sample, run))
        if tuple(weights) == encoder.weights:
            return encoder, rows
        kept = np.flatnonzero(weights)
        channels = tuple(encoder.channels[n] for n in kept)
        found = replace(encoder, channels=channels, weights=tuple(weights[n] for n in kept))
        pairs = zip(kept.tolist(), found.scales, strict=True)
        factors = {n: np.float32(scale / encoder.scales[n]) for n, scale in pairs}
        return found, run.assemble(rescaled(encoder, rows, factors), found.n_features)


def rescaled(encoder: ImageEncoder, rows: csr_array, factors: dict[int, np.float32]) -> Iterator[csr_array]:
    """Rows whose blocks are multiplied by factors, without those of channels that have none; row by row."""
    ends, n_features = np.array([own.stop for own in encoder.slices], rows.indices.dtype), 0
    shifts = dict[int, np.int32]()
    for n in factors:
        own = encoder.slices[n]
        shifts[n], n_features = np.int32(own.start - n_features), n_features + own.stop - own.start
    for start, stop in pairwise(rows.indptr):
        columns, values = rows.indices[start:stop], rows.data[start:stop]
        cuts = [0, *np.searchsorted(columns, ends)]
        data = np.concatenate([values[cuts[n] : cuts[n + 1]] * factor for n, factor in factors.items()])
        indices = np.concatenate([columns[cuts[n] : cuts[n + 1]] - shift for n, shift in shifts.items()])
        yield csr_array((data, indices, [0, len(data)]), shape=(1, n_features))


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
        policy, done, encoded = setting, np.empty(0, np.int64), list[csr_array]()
        if setting == "auto":
            allowed = [getattr(channel.descriptor, "policies", POLICIES) for channel in encoder.channels]
            policy, done, encoded = choose.augmentation(
                rows,
                lambda *each: run.assemble(parts(*each), encoder.n_features),
                suited_policies([p for p in POLICIES if all(p in each for each in allowed)], encoder.deskew, images),
            )
        else:
            choose.fixed("augmentation", setting, "given, or by the preset")
        copied, augmentations = copies(policy, choose.y, total)
        if not augmentations:
            return policy, rows, np.arange(len(choose.y))
        rest = np.setdiff1d(np.arange(len(copied)), done)
        more = parts(copied[rest], tuple(augmentations[copy] for copy in rest)) if len(rest) else ()
        every = chain([rows], encoded, more)
        groups = np.concatenate([np.arange(len(choose.y)), copied[done], copied[rest]])
        return policy, run.assemble(every, encoder.n_features), groups
