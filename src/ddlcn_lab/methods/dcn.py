"""Deep coding network: local coordinates, and inside each of them local coordinates again.

    f(x) ≈ Σ_v γ_v(x) [ w_v + Σ_u γ_u^v(x) w_vu ]

γ(x) are local coordinates of x over the anchors v of the first layer: Σ_v γ_v = 1, few, near. Each anchor v has a
codebook of its own, learnt on the samples that use v, and γ^v(x) are local coordinates of x over it. One layer makes f
linear between anchors; two make the weight of an anchor vary with x. The features are [s·γ_v, γ_v·γ_u^v], with s to
balance both layers, and f is a linear SVM on them. In DDLCN, which builds on it, the second code belongs to the
anchor and not to the sample. Lin, Zhang, Zhu, Yu: Deep coding network, NIPS 2010. Codebooks here are k-means centres,
and codes are those of `LocalityCoder`, which solves local coordinate coding's problem over the nearest anchors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.blas import one_blas_thread
from ddlcn.execution.progress import track
from ddlcn.layers.coding import Codes, LocalityCoder
from ddlcn_lab.methods.memory import check_memory

_LEARNT_ON = 5_000  # samples that a codebook is learnt on


class DeepCoding(TransformerMixin, BaseEstimator):
    """Rows to sparse rows of two layers of codes.

    Parameters
    ----------
    n_first, n_second : int
        Anchors of the first layer, and of each codebook of the second.
    n_neighbors : tuple of int
        Anchors that take part in a code of each layer, at most.
    balance : float
        s.
    random_state : int

    Attributes
    ----------
    first_ : ndarray
        Anchors of the first layer.
    second_ : list of ndarray
        A codebook for each of them.
    """

    def __init__(
        self,
        n_first: int = 64,
        n_second: int = 512,
        n_neighbors: tuple[int, int] = (5, 15),
        balance: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.n_first = n_first
        self.n_second = n_second
        self.n_neighbors = n_neighbors
        self.balance = balance
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> DeepCoding:
        """Learn the codebooks of both layers."""
        X = validate_data(self, X, dtype=np.float32, order="C")
        self._check_memory(len(X))
        with one_blas_thread():
            self.first_ = self._codebook(X, self.n_first)
            codes, self.second_ = self._encode(X, self.first_, 0), []
            for v in track("Codebooks", range(len(self.first_)), total=len(self.first_)):
                users = ((codes.indices == v) & (codes.values != 0)).any(axis=1)
                # an anchor that no sample uses is alone in its codebook
                self.second_.append(self._codebook(X[users], self.n_second) if users.any() else self.first_[v : v + 1])
        return self

    def transform(self, X: Any) -> csr_array:
        """Features of rows, one sparse row each."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        self._check_memory(len(X))
        with one_blas_thread():
            first = self._encode(X, self.first_, 0)
            rows, k = np.arange(len(X)), first.indices.shape[1]
            parts = [(np.repeat(rows, k), first.indices.ravel(), self.balance * first.values.ravel())]
            start = len(self.first_)
            for v, codebook in enumerate(self.second_):
                users, place = np.nonzero((first.indices == v) & (first.values != 0))
                if len(users):
                    codes = self._encode(X[users], codebook, 1)
                    values = first.values[users, place, None] * codes.values
                    parts.append(
                        (np.repeat(users, codes.values.shape[1]), start + codes.indices.ravel(), values.ravel())
                    )
                start += len(codebook)
        at, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return csr_array((values.astype(np.float32), (at, columns)), shape=(len(X), start))

    def _check_memory(self, n_samples: int) -> None:
        k, m = self.n_neighbors
        check_memory(40 * n_samples * k * (m + 1), f"codes of {n_samples} samples", "set n_neighbors lower")

    def _codebook(self, X: np.ndarray, n_anchors: int) -> np.ndarray:
        X = X[:: -(-len(X) // _LEARNT_ON)]
        n, seed = min(n_anchors, len(X)), self.random_state
        centres = MiniBatchKMeans(n, batch_size=4096, n_init=1, max_iter=10, random_state=seed)
        return centres.fit(X).cluster_centers_.astype(np.float32)

    def _encode(self, X: np.ndarray, codebook: np.ndarray, layer: int) -> Codes:
        return LocalityCoder(min(self.n_neighbors[layer], len(codebook))).encode(X, codebook)
