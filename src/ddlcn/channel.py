"""A channel: one way to see an image, by a local descriptor, an encoding over learnt atoms, and a pooling.

    sift        descriptors ─► locality codes over V ─► maxima and minima over a pyramid, weighted by depth
    sift_grid   descriptors of the smallest patches ─► linear codes over the deeper dictionary U ─► means over a grid
    covariance  SIFT and colour of each patch, whitened ─► logarithm of their covariance over the image, or each cell

Each image gives a block of unit length (of zeros if all its codes are zero).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.kernels import pooling
from ddlcn.layers.coding import Codebook, Codes, LinearCoder
from ddlcn.layers.covariance import LogCovariance
from ddlcn.layers.dictionary import DictionaryLearning, reduced
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn.layers.pooling import MeanGrid, collapsed_weights

MAX_WEIGHT = 1e3
_MANY_CODES = 4  # per atom: then few atoms are unused, and leaving them out is not worth it


class Block(NamedTuple):
    """The part of a row that a channel gives: columns in rising order, and their values."""

    columns: np.ndarray  # int32
    values: np.ndarray  # float32


@dataclass(frozen=True, eq=False)
class Channel:
    """One way to see an image. Immutable; `learnt` returns a copy with dictionaries.

    Parameters
    ----------
    name : str
    descriptor : DenseSIFT, ColorStatistics, JointDescriptor, Backbone, or another part with `describe` and `n_features`
    coder : LocalityCoder, LLCCoder, LinearCoder or None
        How descriptors are encoded; None takes them as they are (not with a pyramid).
    pooling : SpatialPyramid, MeanGrid or LogCovariance
        Maxima of locality codes over a pyramid, means over a grid, or covariances of descriptors.
    dictionary : DictionaryLearning, str or None
        How dictionaries are learnt; the name of another channel uses the deeper dictionaries of that one.
    deeper_coder : LocalityCoder or LLCCoder, optional
        Encodes the atoms of each layer over those of the next.
    power : float
        Exponent on the size of codes before pooling; 0.5 lets small codes count for more.
    weight : float or "auto"
        Weight of the block in a row; "auto" is chosen on held-out training images.
    dictionaries, atom_classes : tuple of arrays, array of int
        V, U, …, once they are learnt, and the number of the class of each atom of V.
    projection : tuple of arrays
        Mean and principal components of descriptors, if the dictionaries have `n_components`; what whitens them for
        covariances.

    Examples
    --------
    >>> from ddlcn import presets
    >>> [channel.name for channel in presets.best().channels]
    ['sift', 'sift_grid', 'color', 'covariance', 'covariance_grid']
    """

    name: str
    descriptor: Any
    coder: Any
    pooling: Any
    dictionary: DictionaryLearning | str | None = None
    deeper_coder: Any = None
    power: float = 1.0
    weight: float | str = 1.0
    dictionaries: tuple[np.ndarray, ...] = field(default=(), repr=False)
    atom_classes: np.ndarray | None = field(default=None, repr=False)
    projection: tuple[np.ndarray, ...] = field(default=(), repr=False)

    # --------------------------------------------------------------------------------------- description

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of parts, as in `coder__beta`."""
        own = {each.name: getattr(self, each.name) for each in fields(self)[:8]}
        parts = {name: part for name, part in own.items() if deep and hasattr(part, "get_params")}
        return own | {f"{name}__{key}": v for name, part in parts.items() for key, v in part.get_params().items()}

    def with_params(self, **params: Any) -> Channel:
        """Return a copy with other parameters, as in `coder__beta=0.05`."""
        found = self
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in found.get_params(deep=False):
                raise ValueError(f"channel {self.name!r} has no parameter {name!r}")
            if inner:
                part = getattr(found, name)
                if not isinstance(part, Part):
                    raise ValueError(f"{name!r} of channel {self.name!r} is {part!r}, which has no parameters")
                value = type(part)(**part.get_params()).set_params(**{inner: value})
            found = replace(found, **{name: value})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the description in JSON's types: what answers depend on, but for arrays and the weight."""
        own = {name: value for name, value in self.get_params(deep=False).items() if name != "weight"}
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in own.items()}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Channel:
        """Return the channel of a description, without dictionaries."""
        return cls(**{name: Part.from_dict(v) if isinstance(v, dict) else v for name, v in description.items()})

    def check(self) -> None:
        """Raise if a parameter is invalid, also one of a part."""
        own, linear = f"channel {self.name!r}", self.coder is None or isinstance(self.coder, LinearCoder)
        if not re.fullmatch(r"[\w -]{1,64}", self.name) or "__" in self.name or self.name in ("svm", "calibration"):
            raise DDLCNError(f"{own}: give another name of letters and digits, without a double underscore")
        weight = getattr(self.descriptor, "default_weight", 1) if self.weight == "auto" else self.weight
        if isinstance(weight, str) or not 0 < weight <= MAX_WEIGHT:
            raise DDLCNError(f'weight={weight!r} of {own}: must be "auto" or above 0, at most {MAX_WEIGHT:g}')
        if not 0 < self.power <= 4:
            raise DDLCNError(f"power={self.power} of {own}: must be above 0, at most 4")
        if isinstance(self.pooling, LogCovariance):
            if (self.coder, self.dictionary, self.deeper_coder, self.power) != (None, None, None, 1):
                raise DDLCNError(f"{own}: use LogCovariance without coders and dictionary, and with power=1")
        elif linear != isinstance(self.pooling, MeanGrid):
            raise DDLCNError(f"{own}: use MeanGrid with LinearCoder or no coder, and SpatialPyramid with others")
        if self.coder is not None and self.dictionary is None:
            raise DDLCNError(f"{own}: its coder needs dictionary=DictionaryLearning(), or a channel's name")
        for part in self.get_params(deep=False).values():
            if isinstance(part, Part):
                part.check()

    def learnt(self, dictionaries: tuple[np.ndarray, ...], atom_classes: np.ndarray | None = None) -> Channel:
        """Return a copy with learnt dictionaries (V, U, …) and the class number of each atom of V."""
        return replace(self, dictionaries=dictionaries, atom_classes=atom_classes)

    def reduced(self, values: np.ndarray) -> np.ndarray:
        """Return descriptors as they are encoded: by their principal components, if these were learnt."""
        return reduced(values, *self.projection) if self.projection else values

    # ------------------------------------------------------------------------------------------ encoding

    @cached_property
    def codebook(self) -> Codebook:
        """The first dictionary, prepared for coding."""
        return Codebook(self.dictionaries[0])

    @cached_property
    def tables(self) -> list[np.ndarray]:
        """Dense codes of each layer's atoms over the next layer's: (s1, s2), (s2, s3), …"""
        coder = self.deeper_coder
        return [] if coder is None else [coder.encode(V, U).dense(len(U)) for V, U in pairwise(self.dictionaries)]

    @cached_property
    def depth_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of pooled maxima and minima that all deeper layers amount to (see `layers.pooling`)."""
        last = self.dictionaries[len(self.tables)]
        return collapsed_weights(self.tables, len(last), getattr(self.pooling, "minima", False))

    @cached_property
    def _matrix(self) -> np.ndarray:
        """The linear coder of these atoms; compiled code would read beyond atoms that are shorter than descriptors."""
        assert isinstance(self.coder, LinearCoder)
        atoms, wanted = np.concatenate(self.dictionaries), self.descriptor.n_features
        if atoms.shape[1] != wanted:
            what = f"channel {self.name!r} needs atoms of {wanted} values, not {atoms.shape[1]}"
            raise DDLCNError(f"{what}: set n_components=None in the channel whose dictionaries it uses")
        return self.coder.matrix(atoms)

    @cached_property
    def n_features(self) -> int:
        """Length of a block."""
        if isinstance(self.pooling, LogCovariance):
            k = len(self.projection[0])
            return self.pooling.n_cells * k * (k + 1) // 2
        if isinstance(self.pooling, MeanGrid):
            n_codes = self.descriptor.n_features if self.coder is None else self._matrix.shape[1]
            return self.pooling.n_cells * n_codes
        parts = 2 if self.depth_weights[1].size else 1
        return self.pooling.n_cells * len(self.dictionaries[0]) * parts

    def blocks(self, images: list[Descriptors]) -> list[Block]:
        """Return the blocks of some images, of unit length each."""
        if isinstance(self.pooling, MeanGrid):
            return [self._mean_block(image) for image in images]
        if isinstance(self.pooling, LogCovariance):
            columns = np.arange(self.n_features, dtype=np.int32)
            return [Block(columns, values) for values in self.pooling.pool(images, self.projection[0])]
        codes = self.codes(np.concatenate([image.values for image in images]))
        found, start = [], 0
        for image in images:
            own = slice(start, start := start + len(image.values))
            cells = self.pooling.cells(image.positions, image.shape)
            found.append(self._max_block(Codes(codes.indices[own], codes.values[own]), cells))
        return found

    def codes(self, values: np.ndarray) -> Codes:
        """Locality codes of descriptors, their values raised to `power`.

        Raising pooled codes would give the same, because the power keeps order and sign.
        """
        codes = self.coder.encode(self.reduced(values), self.codebook)
        if self.power == 1:
            return codes
        return codes._replace(values=_signed_power(codes.values, self.power))

    def _max_block(self, codes: Codes, cells: np.ndarray) -> Block:
        n_atoms = len(self.dictionaries[0])
        used = np.arange(n_atoms)
        if codes.indices.size < _MANY_CODES * n_atoms:  # no result depends on it
            used, places = pooling.used_atoms(codes.indices, n_atoms)
            codes = Codes(places, codes.values)
        maximum, minimum = self.pooling.pool_cells(codes, cells, len(used))
        columns, values = np.empty(2 * maximum.size, np.int32), np.empty(2 * maximum.size, np.float32)
        n = pooling.weighted_row(maximum, minimum, used, *self.depth_weights, columns, values)
        return Block(columns[:n].copy(), values[:n].copy())

    def _mean_block(self, image: Descriptors) -> Block:
        patches, cells = self.pooling.patches(image.positions, image.sizes, image.shape)
        means = pooling.cell_means(self.linear_codes(image.values[patches]), cells, self.pooling.n_cells).ravel()
        columns = np.flatnonzero(means).astype(np.int32)
        length = max(float(np.linalg.norm(means.astype(np.float64))), 1e-30)
        return Block(columns, means[columns] / np.float32(length))

    def linear_codes(self, values: np.ndarray) -> np.ndarray:
        """Dense codes of descriptors, raised to `power`; the descriptors themselves without a coder."""
        codes = values if self.coder is None else pooling.linear_codes(values, self._matrix)
        return _signed_power(codes, self.power)

    # ------------------------------------------------------------------------------------------ evidence

    def shares(self, image: Descriptors, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Share each score Σ coef · block out among patches, exactly.

        Returns
        -------
        shares : (n_patches, k) array, k = 1 without a pyramid
        atoms : (n_patches, k) array of the atoms of V that have these shares, or None
        """
        coef = coef.astype(np.float64)
        if isinstance(self.pooling, MeanGrid):
            return self._mean_shares(image, coef), None
        if isinstance(self.pooling, LogCovariance):
            return self.pooling.shares(image, self.projection[0], coef)[:, None], None
        codes, n_atoms = self.codes(image.values), len(self.dictionaries[0])
        cells = self.pooling.cells(image.positions, image.shape)
        maximum, minimum = self.pooling.pool_cells(codes, cells, n_atoms)
        weights = [weights.astype(np.float64) for weights in self.depth_weights]
        parts = zip((maximum, minimum), weights, strict=True)
        energy = sum(((pooled * each) ** 2).sum() for pooled, each in parts if each.size)
        scale = 1 / np.sqrt(energy) if energy > 0 else 0.0
        max_coef, min_coef = self.pooled_coef(scale * coef)
        found = np.empty(codes.indices.shape)
        pooling.attribute(codes.indices, codes.values, cells, maximum, minimum, max_coef, min_coef, found)
        return found, codes.indices

    def pooled_coef(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of pooled maxima and minima, each (n_cells, n_atoms), that weights of a block amount to."""
        n_atoms, (max_weights, min_weights) = len(self.dictionaries[0]), self.depth_weights
        coef = coef.astype(np.float64).reshape(self.pooling.n_cells, -1)
        max_coef = coef[:, :n_atoms] * max_weights
        return max_coef, coef[:, n_atoms:] * min_weights if min_weights.size else np.zeros_like(max_coef)

    def _mean_shares(self, image: Descriptors, coef: np.ndarray) -> np.ndarray:
        patches, cells = self.pooling.patches(image.positions, image.sizes, image.shape)
        codes, n_cells = self.linear_codes(image.values[patches]), self.pooling.n_cells
        length = np.linalg.norm(pooling.cell_means(codes, cells, n_cells).astype(np.float64))
        found = np.zeros((len(image.values), 1))
        if length > 0:
            weights = coef.reshape(n_cells, -1)[cells]
            found[patches, 0] = (codes * weights).sum(axis=1) / np.bincount(cells)[cells] / length
        return found


def nested_params(channels: Any) -> dict[str, Any]:
    """Parameters of channels by name, as in `sift__coder__beta`; of anything else, none."""
    found = [each for each in channels if isinstance(each, Channel)] if isinstance(channels, list | tuple) else []
    return {f"{channel.name}__{key}": value for channel in found for key, value in channel.get_params().items()}


def with_nested_params(channels: Sequence[Channel] | None, params: dict[str, Any]) -> list[Channel]:
    """Channels with other parameters, given as `nested_params` gives them."""
    found = {channel.name: channel for channel in channels or ()}
    for key, value in params.items():
        name, _, inner = key.partition("__")
        if name not in found:
            raise ValueError(f"{key!r}: there is no channel {name!r} among those given as channels=")
        found[name] = found[name].with_params(**{inner: value})
    return list(found.values())


def _signed_power(values: np.ndarray, power: float) -> np.ndarray:
    return np.sign(values) * np.abs(values) ** np.float32(power)
