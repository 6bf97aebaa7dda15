"""Evidence: the exact share of every patch in a class's score, channel by channel.

Each pooled entry was attained by one patch (maxima and minima) or is a mean of patches, and the SVM is linear, so

    score = bias + Σ over channels and patches of the entries that the patch attained, times their weights

with nothing approximated: shares and bias add up to the score, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError, listed
from ddlcn.layers.patches import Descriptors
from ddlcn.linear.svm import LinearSVM


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
        out, patches = np.zeros(shape or own), self.shares.sum(axis=1)
        scale, corners = np.divide(out.shape, own), positions - (sizes[:, None] - 1) / 2
        starts = np.rint(corners * scale).astype(int).clip(0, np.array(out.shape) - 1)  # cells have rounded sides
        ends = np.maximum(np.rint((corners + sizes[:, None]) * scale).astype(int), starts + 1)
        for share, (top, left), (bottom, right) in zip(patches, starts, ends, strict=True):
            out[top:bottom, left:right] += share / out[top:bottom, left:right].size
        return out


@dataclass(frozen=True)
class Evidence:
    """Why an image got its score for a class: `bias + Σ channel.total` is the score.

    Attributes
    ----------
    label : label of the class
    score, bias : float
    channels : tuple of ChannelEvidence
        Also by name, as in `evidence["sift"]`.

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

    def __getitem__(self, name: str) -> ChannelEvidence:
        return {channel.name: channel for channel in self.channels}[name]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the map: those of the image as the first channel sees it."""
        return self.channels[0].descriptors.shape

    def map(self) -> np.ndarray:
        """Return the sum of the maps of all channels, of `shape`; it sums to score − bias."""
        return np.sum([channel.map(self.shape) for channel in self.channels], axis=0)


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
    scores = svm.scores(encoder.encode([described]))
    label = svm.labels(scores)[0] if label is None else label
    found = np.flatnonzero(svm.classes_ == label)
    if not len(found):
        raise DDLCNError(f"{label!r} is not a class of this model: it knows {listed(svm.classes_)}")
    # two classes share one weight vector: it is for the second, against the first
    row, sign = (found[0], 1.0) if len(svm.classes_) > 2 else (0, 1.0 if found[0] else -1.0)
    coef, parts = sign * svm.coef_[row], []
    for channel, own, scale in zip(encoder.channels, encoder.slices, encoder.scales, strict=True):
        shares, atoms = channel.shares(described[channel.name], scale * coef[own])
        parts.append(ChannelEvidence(channel.name, shares, atoms, described[channel.name]))
    score = scores[0, row] if scores.ndim == 2 else scores[0]
    return Evidence(label, sign * float(score), sign * float(svm.intercept_[row]), tuple(parts))
