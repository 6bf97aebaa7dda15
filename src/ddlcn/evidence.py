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
        """The patches that an atom's share comes from, strongest first."""
        shares = np.abs(np.where(self.atoms == atom, self.shares, 0.0)).sum(axis=1)
        return np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]

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
    """Evidence for a label, by default the predicted one."""
    network, svm = model.network_, model.svm_
    descriptors = model.descriptor_.transform(image, model.value_range_)
    codes = network.encode(descriptors.values)
    cells = network.pyramid.cells(descriptors.positions, descriptors.shape)
    maximum, minimum = network.pyramid.pool(
        codes, descriptors.positions, descriptors.shape, len(network.dictionaries[0])
    )
    scores = svm.decision_function(network.rows([descriptors]))
    if label is None:
        label = svm.labels(scores)[0]
    where = np.flatnonzero(model.classes_ == label)
    if not len(where):
        names = ", ".join(map(str, model.classes_[:10]))
        raise DDLCNError(f"{label!r} is not a class of this model: it knows {names}")
    # two classes share one weight vector: it speaks for the second, against the first
    row, sign = (where[0], 1.0) if len(model.classes_) > 2 else (0, 1.0 if where[0] else -1.0)
    max_coef, min_coef = network.fold(svm.coef_[row])
    scale, deep_scale = _scales(network, maximum, minimum, descriptors)
    shares = np.empty(codes.indices.shape)
    pooling.attribute(
        codes.indices, codes.values, cells, maximum, minimum, max_coef * scale, min_coef * scale, shares
    )
    score = scores[0, row] if scores.ndim == 2 else scores[0]
    return Evidence(
        label,
        sign * float(score),
        sign * float(svm.intercept_[row]),
        sign * shares,
        codes.indices,
        sign * deep_scale * _deep_shares(network, svm.coef_[row], descriptors),
        descriptors,
    )


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
