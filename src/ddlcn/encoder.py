"""ImageEncoder: images to rows of features, channel by channel.

    row = (w₁·b₁, …, w_n·b_n) / √Σw²

with a block b of unit length from each channel, so that Gram matrices of channels add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ddlcn.channel import Block, Channel
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn.preprocessing.augmentation import Augmentation
from ddlcn.preprocessing.prepared import PreparedImage

_DESCRIPTORS_AT_ONCE = 2048  # that are encoded together; no result depends on it


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """Channels with learnt dictionaries, and what happens to an image before it is described. Immutable.

    Parameters
    ----------
    channels : tuple of Channel
    weights : tuple of float
        One for each channel.
    value_range : (float, float)
        Black and white of images that are arrays of floats.
    deskew : (float, float), optional
        Deskew foregrounds to this height and width (see `preprocessing.deskew`).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ddlcn import DDLCNClassifier
    >>> digits = load_digits()
    >>> model = DDLCNClassifier(preset="paper", atoms_per_class=2).fit(digits.images[:40], digits.target[:40])
    >>> encoder = model.encoder_
    >>> encoder.transform(digits.images[:3]).shape == (3, encoder.n_features)
    True
    """

    channels: tuple[Channel, ...]
    weights: tuple[float, ...]
    value_range: tuple[float, float] = (0.0, 1.0)
    deskew: tuple[float, float] | None = None

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each channel."""
        ends = np.cumsum([0] + [channel.n_features for channel in self.channels]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.slices[-1].stop

    @property
    def scales(self) -> tuple[float, ...]:
        """What each block is multiplied by: w / √Σw²."""
        length = float(np.sqrt(np.sum(np.square(self.weights))))
        return tuple(weight / length for weight in self.weights)

    def __getitem__(self, name: str) -> Channel:
        return {channel.name: channel for channel in self.channels}[name]

    # --------------------------------------------------------------------------------------- description

    def to_dict(self) -> dict[str, Any]:
        """Return the description in JSON's types, without arrays."""
        return {
            "value_range": list(self.value_range),
            "preprocessing": {"deskew": None if self.deskew is None else list(self.deskew)},
            "channels": [channel.to_dict() for channel in self.channels],
            "weights": list(self.weights),
        }

    @property
    def part_types(self) -> tuple[type, ...]:
        """Classes of the parts, which a process must have imported before it calls `from_dict`."""
        parts = (part for channel in self.channels for part in vars(channel).values() if isinstance(part, Part))
        return tuple(dict.fromkeys(map(type, parts)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the learnt arrays by name, as in `sift.dictionary.0`.

        Returns
        -------
        dict of arrays
        """
        found: dict[str, np.ndarray] = {}
        for channel in self.channels:
            found |= {f"{channel.name}.dictionary.{n}": atoms for n, atoms in enumerate(channel.dictionaries)}
            found |= {f"{channel.name}.projection.{n}": array for n, array in enumerate(channel.projection)}
            if channel.atom_classes is not None:
                found[f"{channel.name}.atom_classes"] = channel.atom_classes
        return found

    @classmethod
    def from_dict(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> ImageEncoder:
        """Return the encoder of a description and arrays.

        Parameters
        ----------
        description : dict
            What `to_dict` returns.
        arrays : dict of arrays
            What `arrays` returns.

        Returns
        -------
        ImageEncoder
        """
        channels = []
        for each in description["channels"]:
            dictionaries, projection = (
                tuple(arrays[name] for n in range(len(arrays)) if (name := f"{each['name']}.{kind}.{n}") in arrays)
                for kind in ("dictionary", "projection")
            )
            channel = replace(Channel.from_dict(each), projection=projection)
            channels.append(channel.learnt(dictionaries, arrays.get(f"{each['name']}.atom_classes")))
        low, high = description["value_range"]
        size = description["preprocessing"]["deskew"]
        weights = tuple(map(float, description["weights"]))
        return cls(tuple(channels), weights, (float(low), float(high)), size and tuple(map(float, size)))

    def renumbered(self, numbers: np.ndarray) -> ImageEncoder:
        """Return a copy whose atoms know the new numbers of their classes."""
        channels = tuple(
            c if c.atom_classes is None else c.learnt(c.dictionaries, numbers[c.atom_classes].astype(np.int32))
            for c in self.channels
        )
        return replace(self, channels=channels)

    # ------------------------------------------------------------------------------------------ encoding

    def describe(self, image: Any, augmentation: Augmentation | None = None) -> dict[str, Descriptors]:
        """Describe an image, once for each descriptor.

        Parameters
        ----------
        image : path or array
        augmentation : Augmentation, optional

        Returns
        -------
        dict of Descriptors
            By the names of channels.
        """
        prepared = PreparedImage(image, self.value_range, augmentation, self.deskew)
        return {channel.name: prepared.described(channel.descriptor) for channel in self.channels}

    def working_image(self, image: Any, shape: tuple[int, int], colour: bool = False) -> np.ndarray:
        """Return an image as descriptors of this shape see it: resized, deskewed, in grey or as RGB."""
        prepared = PreparedImage(image, self.value_range, None, self.deskew)
        return prepared.rgb(shape) if colour else prepared.grey(shape)

    def transform(self, images: Sequence[Any], augmentations: Sequence[Augmentation | None] = ()) -> csr_array:
        """Encode images.

        Parameters
        ----------
        images : sequence of paths or arrays
        augmentations : sequence of Augmentation
            None, or one for each image.

        Returns
        -------
        csr_array of shape (n_images, n_features), float32
        """
        pairs = zip(images, augmentations or [None] * len(images), strict=True)
        return self.encode(self.describe(image, augmentation) for image, augmentation in pairs)

    def encode(self, described: Iterable[dict[str, Descriptors]]) -> csr_array:
        """Encode images that have been described."""
        rows = [row for batch in _batches(described) for row in self._rows(batch)]
        indptr = np.cumsum([0] + [len(row.columns) for row in rows], dtype=np.int32)
        columns, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return csr_array((values, columns, indptr), shape=(len(rows), self.n_features))

    def _rows(self, batch: list[dict[str, Descriptors]]) -> list[Block]:
        parts = []
        for channel, own, scale in zip(self.channels, self.slices, self.scales, strict=True):
            blocks = channel.blocks([image[channel.name] for image in batch])
            parts.append([Block(b.columns + own.start, b.values * np.float32(scale)) for b in blocks])
        return [Block(*map(np.concatenate, zip(*row, strict=True))) for row in zip(*parts, strict=True)]


def _batches(images: Iterable[dict[str, Descriptors]]) -> Iterator[list[dict[str, Descriptors]]]:
    """Images with enough descriptors to be encoded together."""
    waiting, n_descriptors = list[dict[str, Descriptors]](), 0
    for image in images:
        waiting.append(image)
        n_descriptors += max(len(each.values) for each in image.values())
        if n_descriptors >= _DESCRIPTORS_AT_ONCE:
            yield waiting
            waiting, n_descriptors = [], 0
    if waiting:
        yield waiting
