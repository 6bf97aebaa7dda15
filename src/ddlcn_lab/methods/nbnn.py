"""Local naive Bayes nearest neighbour: descriptors vote for the classes that are near them.

    label = argmin_c Σ_i [ min( min over y ∈ N_k(x_i) of class c of ‖x_i − y‖²,  d_i ) − d_i ]

x_i are the SIFT descriptors of a test image, N_k(x_i) the k descriptors nearest to x_i of all training images together,
and d_i the squared distance to the next one, number k + 1. A class without a descriptor in N_k(x_i) gets nothing from
x_i. A descriptor has its place in the image, times a weight, as two more entries. Nothing is learnt or quantised.
McCann, Lowe: Local naive Bayes nearest neighbor for image classification, CVPR 2012, who find neighbours
approximately by trees; here they are found exactly in the `probes` of `n_lists` clusters whose centres are nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn.images import value_range
from ddlcn.layers.sift import DenseSIFT
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.shared import kmeans_centres, rows_of_images

_LEARNT_ON = 100_000  # descriptors that clusters are learnt on


class LocalNBNN(ClassifierMixin, BaseEstimator):
    """Local NBNN on SIFT descriptors of images.

    Parameters
    ----------
    n_neighbors : int
        k.
    location_weight : float
        Of a descriptor's place, in parts of the image's sides.
    n_lists, probes : int
        Clusters of descriptors, and how many of them are searched. If both are equal, neighbours are exact.
    descriptor : DenseSIFT, optional
    random_state : int
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        location_weight: float = 0.5,
        n_lists: int = 1024,
        probes: int = 16,
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.location_weight = location_weight
        self.n_lists = n_lists
        self.probes = probes
        self.descriptor = descriptor
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: ArrayLike) -> LocalNBNN:
        """Keep the descriptors of all images, cluster by cluster."""
        if not 1 <= self.probes <= self.n_lists:
            raise DDLCNError(f"probes={self.probes}: must be at least 1 and at most n_lists={self.n_lists}")
        self.classes_, targets = np.unique(np.asarray(y), return_inverse=True)
        self.descriptor_ = self.descriptor or DenseSIFT()
        self.value_range_ = value_range(images)
        first = self._describe(images[0])
        what = f"descriptors of {len(images)} images"
        check_memory(2 * first.nbytes * len(images), what, "set descriptor__step higher, or give fewer")
        parts = [self._describe(image) for image in track("Describing", images, total=len(images))]
        Y, labels = np.concatenate(parts), np.repeat(targets, [len(part) for part in parts])
        del parts
        self.centres_ = kmeans_centres(Y[:: -(-len(Y) // _LEARNT_ON)], self.n_lists, self.random_state, "Clusters")
        with one_blas_thread():
            member_of = np.concatenate(
                [nearest(Y[i : i + 4096], self.centres_, 1)[1][:, 0] for i in range(0, len(Y), 4096)]
            )
        order = np.argsort(member_of, kind="stable")
        ends = np.cumsum(np.bincount(member_of, minlength=len(self.centres_)))[:-1]
        self.lists_, self.list_labels_ = np.split(Y[order], ends), np.split(labels[order], ends)
        return self

    def decision_function(self, images: Any) -> np.ndarray:
        """The negative sum for each class, a column per class."""
        check_is_fitted(self)
        return rows_of_images(self._totals, images, self.n_jobs, "Predicting")

    def predict(self, images: Any) -> np.ndarray:
        """The label with the largest score."""
        return self.classes_[self.decision_function(images).argmax(axis=1)]

    def _describe(self, image: Any) -> np.ndarray:
        found = self.descriptor_.describe(PreparedImage(image, self.value_range_))
        places = found.positions / np.array(found.shape, np.float32) * np.float32(self.location_weight)
        return np.hstack([found.values, places.astype(np.float32)])

    def _totals(self, image: Any) -> np.ndarray:
        X, k = self._describe(image), self.n_neighbors
        probed = nearest(X, self.centres_, self.probes)[1]
        distances = np.full((*probed.shape, k + 1), np.inf, np.float32)
        labels = np.zeros(distances.shape, np.intp)
        for number in np.unique(probed):
            rows, places = np.nonzero(probed == number)
            if len(self.lists_[number]):
                found, members = nearest(X[rows], self.lists_[number], k + 1)
                distances[rows, places, : found.shape[1]] = found
                labels[rows, places, : found.shape[1]] = self.list_labels_[number][members]
        return votes(distances.reshape(len(X), -1), labels.reshape(len(X), -1), k, len(self.classes_))


def nearest(X: np.ndarray, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k rows of Y nearest to each row of X.

    Parameters
    ----------
    X, Y : arrays
    k : int
        At most the number of rows of Y are found.

    Returns
    -------
    squared, numbers : arrays of shape (n, k)
        Squared distances and rows of Y, in no order.

    Examples
    --------
    >>> nearest(np.zeros((1, 1)), np.array([[3.0], [1.0], [2.0]]), 1)
    (array([[1.]]), array([[1]]))
    """
    squared = np.einsum("ij,ij->i", X, X)[:, None] - 2 * X @ Y.T + np.einsum("ij,ij->i", Y, Y)
    k = min(k, len(Y))
    numbers = np.argpartition(squared, k - 1, axis=1)[:, :k]
    return np.maximum(np.take_along_axis(squared, numbers, axis=1), 0), numbers


def votes(distances: np.ndarray, labels: np.ndarray, k: int, n_classes: int) -> np.ndarray:
    """Sum Σ_i [d_i − the nearest of class c among the k nearest] of neighbours, a sum for each class c.

    Parameters
    ----------
    distances, labels : arrays of shape (n, m)
        Of m neighbours of each descriptor, in any order; infinite distances are none.
    k, n_classes : int

    Returns
    -------
    array of shape (n_classes,)

    Examples
    --------
    >>> votes(np.array([[1.0, 4.0, 2.0, 9.0]]), np.array([[0, 1, 0, 2]]), 2, 3)
    array([3., 0., 0.])
    """
    order = np.argsort(distances, axis=1, kind="stable")[:, : k + 1]
    distances, labels = (np.take_along_axis(part, order, axis=1) for part in (distances, labels))
    limit = np.max(distances, axis=1, where=np.isfinite(distances), initial=0)[:, None]
    gains = np.maximum(limit - distances, 0).astype(np.float64)
    best = np.zeros((len(gains), n_classes))
    np.maximum.at(best, (np.arange(len(gains))[:, None], labels), gains)
    return best.sum(axis=0)
