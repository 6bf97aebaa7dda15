"""Evidence: the exact share of every patch in a class's score.

Each pooled entry was attained by one descriptor, and the SVM is linear, so

    score = bias + Σ over patches of the entries that the patch attained, times their weights

with nothing approximated: the shares and the bias add up to the score to rounding. What the deep channel
adds is a mean over patches, of which each has its part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ddlcn import doubt
from ddlcn.copies import Change
from ddlcn.errors import DDLCNError
from ddlcn.kernels import pooling
from ddlcn.layers.network import DEEP_SIDE, Network
from ddlcn.layers.sift import Descriptors

if TYPE_CHECKING:
    from ddlcn.classifier import DDLCNClassifier


@dataclass(frozen=True)
class Evidence:
    """Why an image got its score for a class.

    `bias + shares.sum() + deep.sum()` is the score. Row i of `shares` belongs to patch i of `descriptors`;
    its columns to the atoms `atoms[i]` that took part in the patch's code. Entry i of `deep` is what it
    adds by the deep channel.
    """

    label: Any
    score: float
    bias: float
    shares: np.ndarray  # (n_patches, k) float64
    atoms: np.ndarray  # (n_patches, k) int32
    deep: np.ndarray  # (n_patches,) float64
    descriptors: Descriptors

    @property
    def patches(self) -> np.ndarray:
        """The share of each patch: (n_patches,)."""
        return self.shares.sum(axis=1) + self.deep

    def by_atom(self, n_atoms: int) -> np.ndarray:
        """The share of each first-layer atom: (n_atoms,)."""
        return np.bincount(self.atoms.ravel(), self.shares.ravel(), minlength=n_atoms)

    def fired_by(self, atom: int) -> np.ndarray:
        """The patches that an atom's share comes from, strongest first, each once whatever the looks."""
        shares = np.abs(np.where(self.atoms == atom, self.shares, 0.0)).sum(axis=1)
        found = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
        places = np.column_stack([self.descriptors.positions, self.descriptors.sizes])[found]
        return found[np.sort(np.unique(places, axis=0, return_index=True)[1])]

    def map(self) -> np.ndarray:
        """Shares spread evenly over the pixels of their patches; sums to score − bias."""
        out = np.zeros(self.descriptors.shape)
        for share, (y, x), size in zip(
            self.patches, self.descriptors.positions, self.descriptors.sizes, strict=True
        ):
            top, left = round(y - (size - 1) / 2), round(x - (size - 1) / 2)
            out[top : top + size, left : left + size] += share / size**2
        return out


def explain(model: DDLCNClassifier, image: Any, label: Any = None) -> Evidence:
    """Evidence for a label, by default the predicted one.

    Of an image in doubt, that of all looks at it (see `doubt`), one after another, by their weights.
    """
    svm, (plain, *again) = model.svm_, doubt.looks(model.copies_)

    def look(change: Change, weight: float) -> tuple[Descriptors, float, np.ndarray]:
        seen = model.descriptor_.transform(image, model.value_range_, change.of)
        return seen, weight, svm.decision_function(model.network_.rows([seen]))

    looks = [look(*plain)]
    if again and len(doubt.in_doubt(looks[0][2])):
        looks += [look(*each) for each in again]
    else:
        looks = [(looks[0][0], 1.0, looks[0][2])]
    scores = np.sum([weight * found for _, weight, found in looks], axis=0)
    if label is None:
        label = svm.labels(scores)[0]
    where = np.flatnonzero(model.classes_ == label)
    if not len(where):
        names = ", ".join(map(str, model.classes_[:10]))
        raise DDLCNError(f"{label!r} is not a class of this model: it knows {names}")
    # two classes share one weight vector: it speaks for the second, against the first
    row, sign = (where[0], 1.0) if len(model.classes_) > 2 else (0, 1.0 if where[0] else -1.0)
    parts = [_shares(model.network_, svm.coef_[row], seen, sign * weight) for seen, weight, _ in looks]
    shares, atoms, deep = (np.concatenate(each) for each in zip(*parts, strict=True))
    score = scores[0, row] if scores.ndim == 2 else scores[0]
    every = _together([seen for seen, *_ in looks])
    return Evidence(label, sign * float(score), sign * float(svm.intercept_[row]), shares, atoms, deep, every)


def _together(looks: list[Descriptors]) -> Descriptors:
    """The patches of all looks at an image, one after another."""
    values, positions, sizes = (
        np.concatenate([getattr(look, name) for look in looks]) for name in ("values", "positions", "sizes")
    )
    return Descriptors(values, positions, looks[0].shape, sizes)


def _shares(
    network: Network, coef: np.ndarray, image: Descriptors, weight: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each patch, the shares of its atoms, which these are, and the share of the deep channel."""
    codes = network.encode(image.values)
    cells = network.pyramid.cells(image.positions, image.shape)
    maximum, minimum = network.pyramid.pool_cells(codes, cells, len(network.dictionaries[0]))
    max_coef, min_coef = network.fold(coef)
    scale, deep_scale = (weight * each for each in _scales(network, maximum, minimum, image))
    shares = np.empty(codes.indices.shape)
    pooling.attribute(
        codes.indices, codes.values, cells, maximum, minimum, max_coef * scale, min_coef * scale, shares
    )
    return shares, codes.indices, deep_scale * _deep_shares(network, coef, image)


def _scales(
    network: Network, maximum: np.ndarray, minimum: np.ndarray, image: Descriptors
) -> tuple[float, float]:
    """What pooled codes, and means of deep codes, were multiplied by in the row of an image."""
    parts = [*zip((maximum, minimum), network.weights, strict=True)]
    energy = sum(
        ((pooled * weights.astype(np.float64)) ** 2).sum() for pooled, weights in parts if weights.size
    )
    pooled = 1 / np.sqrt(energy) if energy > 0 else 0.0
    if not network.deep:
        return pooled, 0.0
    length = np.linalg.norm(network.deep_means(image).astype(np.float64))
    deep = network.deep / length if length > 0 else 0.0
    both = np.hypot(float(energy > 0), network.deep if length > 0 else 0.0)
    return pooled / max(both, 1e-30), deep / max(both, 1e-30)


def _deep_shares(network: Network, coef: np.ndarray, image: Descriptors) -> np.ndarray:
    """Of each patch, the part in the means of deep codes times their weights."""
    shares = np.zeros(len(image.values))
    if network.deep:
        patches, cells = network.deep_patches(image)
        weights = coef[network.n_pooled :].astype(np.float64).reshape(DEEP_SIDE**2, -1)[cells]
        codes = network.deep_codes(image.values[patches])
        shares[patches] = (codes * weights).sum(axis=1) / np.bincount(cells)[cells]
    return shares
