"""Evidence: the exact share of every patch in a class's score, channel by channel.

Each pooled entry was attained by one patch (maxima and minima) or is a mean of patches, and the SVM is linear, so

    score = bias + Σ over channels and patches of the entries that the patch attained, times their weights

with nothing approximated: shares and bias add up to the score, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ddlcn.drawing import data_uri, draw_map, overlay, signed
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError, listed
from ddlcn.layers.patches import Descriptors
from ddlcn.linear.svm import LinearSVM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 240  # pixels of a picture in a notebook


@dataclass(frozen=True)
class ChannelEvidence:
    """The shares of one channel. Row i of `shares` belongs to patch i of `descriptors`.

    Its columns belong to the atoms `atoms[i]` that took part in the patch's code; with mean pooling there is one
    column, and `atoms` is None.
    """

    name: str
    shares: np.ndarray = field(repr=False)  # (n_patches, k) float64
    atoms: np.ndarray | None = field(repr=False)  # (n_patches, k) int32
    descriptors: Descriptors = field(repr=False)

    @property
    def total(self) -> float:
        """What the channel adds to the score."""
        return float(self.shares.sum())

    def by_atom(self, n_atoms: int) -> np.ndarray:
        """Return the share of each atom of the first dictionary.

        Parameters
        ----------
        n_atoms : int

        Returns
        -------
        array of shape (n_atoms,)
        """
        if self.atoms is None:
            return np.zeros(n_atoms)
        return np.bincount(self.atoms.ravel(), self.shares.ravel(), minlength=n_atoms)

    def patches_of(self, atom: int) -> np.ndarray:
        """Return the patches that an atom's share comes from.

        Parameters
        ----------
        atom : int

        Returns
        -------
        array of int
            Numbers of patches, the largest share first.
        """
        if self.atoms is None:
            return np.empty(0, np.int64)
        shares = np.abs(np.where(self.atoms == atom, self.shares, 0.0)).sum(axis=1)
        return np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]

    def map(self, shape: tuple[int, int] | None = None) -> np.ndarray:
        """Return shares spread evenly over the pixels of their patches.

        Parameters
        ----------
        shape : (int, int), optional
            Height and width of the map; by default, of the image at working size.

        Returns
        -------
        array of shape (height, width)
        """
        _, positions, own, sizes = self.descriptors
        size, patches = np.array(shape or own), self.shares.sum(axis=1)
        scale, corners = size / own, positions - (sizes[:, None] - 1) / 2
        starts = np.rint(corners * scale).astype(int).clip(0, size - 1)  # cells have rounded sides
        ends = np.maximum(np.rint((corners + sizes[:, None]) * scale).astype(int), starts + 1)
        ends = np.minimum(ends, size)
        steps = np.zeros(size + 1)  # at the corners of patches; their sums along both axes are the map
        density = patches / np.prod(ends - starts, axis=1)
        for rows, columns, sign in ((starts, starts, 1), (ends, ends, 1), (starts, ends, -1), (ends, starts, -1)):
            np.add.at(steps, (rows[:, 0], columns[:, 1]), sign * density)
        return steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]


@dataclass(frozen=True)
class Evidence:
    """Why an image got its score for a class: `bias + Σ channel.total` is the score.

    Attributes
    ----------
    label : label of the class
    score, bias : float
    channels : tuple of ChannelEvidence
        Also by name, as in `evidence["sift"]`.
    working_image : callable
        `working_image(shape, colour=False)` reads the image as descriptors see it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ddlcn import DDLCNClassifier
    >>> digits = load_digits()
    >>> model = DDLCNClassifier(preset="paper", atoms_per_class=2).fit(digits.images[:40], digits.target[:40])
    >>> evidence = model.explain(digits.images[50])
    >>> bool(abs(evidence.bias + evidence.map().sum() - evidence.score) < 1e-5)
    True
    """

    label: Any
    score: float
    bias: float
    channels: tuple[ChannelEvidence, ...]
    working_image: Callable[..., np.ndarray] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Evidence for {self.label}: {self.as_sum()}"

    def __getitem__(self, name: str) -> ChannelEvidence:
        return {channel.name: channel for channel in self.channels}[name]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the map: those of the image as the first channel sees it."""
        return self.channels[0].descriptors.shape

    def map(self) -> np.ndarray:
        """Return the sum of the maps of all channels, of `shape`; it sums to score − bias."""
        return np.sum([channel.map(self.shape) for channel in self.channels], axis=0)

    def as_sum(self, digits: int = 3) -> str:
        """Return the score as text: a sum of what channels add and the bias.

        Parameters
        ----------
        digits : int
            After the decimal point.

        Returns
        -------
        str
        """
        parts = [f"{channel.name} {signed(channel.total, digits)}" for channel in self.channels]
        return f"score {signed(self.score, digits)} = {', '.join(parts)}, bias {signed(self.bias, digits)}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evidence over the image: red is for the class, blue against it.

        `ddlcn.report.draw_explanation` draws the whole explanation, with the second class and the atoms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default, in a new figure of pyplot.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(layout="constrained")
        draw_map(ax, self.working_image(self.shape), self.map(), f"{self.label}: score {signed(self.score, 2)}")
        return ax

    def _repr_html_(self) -> str:
        """What a notebook shows: the image, the evidence over it, and the sum."""
        values, grey = self.map(), self.working_image(self.shape)
        drawn = overlay(grey, values, float(np.abs(values).max()))
        pictures = (self.working_image(self.shape, colour=True), drawn)
        shown = " ".join(f'<img src="{data_uri(each, _SIDE)}" alt="">' for each in pictures)
        colours = "red is evidence for the class, blue against it"
        return f"<div>{escape(repr(self))}<br>{shown}<br><small>{colours}</small></div>"


def explain(encoder: ImageEncoder, svm: LinearSVM, image: Any, label: Any = None) -> Evidence:
    """Return the evidence for a label, by default for the predicted one.

    Parameters
    ----------
    encoder : ImageEncoder
    svm : LinearSVM
    image : path or array
    label : label of a class, optional

    Returns
    -------
    Evidence

    Raises
    ------
    DDLCNError
        If the label is not a class of the model.
    """
    described = encoder.describe(image)
    if label is None:
        label = svm.labels(svm.scores(encoder.encode([described])))[0]
    found = np.flatnonzero(svm.classes_ == label)
    if not len(found):
        raise DDLCNError(f"{label!r} is not a class of this model: it knows {listed(svm.classes_)}")
    # two classes share one weight vector: it is for the second, against the first
    row, sign = (found[0], 1.0) if len(svm.classes_) > 2 else (0, 1.0 if found[0] else -1.0)
    coef, parts = sign * svm.coef_[row], []
    for channel, own, scale in zip(encoder.channels, encoder.slices, encoder.scales, strict=True):
        shares, atoms = channel.shares(described[channel.name], scale * coef[own])
        parts.append(ChannelEvidence(channel.name, shares, atoms, described[channel.name]))
    bias, own_image = sign * float(svm.intercept_[row]), partial(encoder.working_image, image)
    return Evidence(label, bias + sum(part.total for part in parts), bias, tuple(parts), own_image)
