"""What several methods do in the same way: rows of images on threads, k-means centres, sums of codes in cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import MiniBatchKMeans

from ddlcn.blas import one_blas_thread
from ddlcn.execution.progress import track
from ddlcn.layers.coding import Codes


def rows_of_images(function: Callable[[Any], np.ndarray], images: Any, n_jobs: int | None, stage: str) -> np.ndarray:
    """Compute a row for each image on threads.

    Parameters
    ----------
    function : callable
        From an image to its row.
    images : sequence of images
    n_jobs : int or None
        Threads; the result does not depend on it.
    stage : str
        Name of the progress bar.

    Returns
    -------
    array of shape (n_images, n)

    Examples
    --------
    >>> rows_of_images(np.ravel, np.ones((3, 2, 2)), 2, "Counting").shape
    (3, 4)
    """
    with one_blas_thread():
        tasks = (delayed(function)(image) for image in images)
        rows = Parallel(n_jobs, prefer="threads", return_as="generator")(tasks)
        return np.stack(list(track(stage, rows, total=len(images))))


def kmeans_centres(Y: np.ndarray, n_centres: int, random_state: int, stage: str) -> np.ndarray:
    """Return the centres of k-means in small batches, at most as many as rows of Y."""
    clusters = MiniBatchKMeans(min(n_centres, len(Y)), batch_size=4096, n_init=1, random_state=random_state)
    with one_blas_thread():
        for _ in track(stage, [None], total=1):
            clusters.fit(Y)
    return clusters.cluster_centers_


def cell_sums(codes: Codes, cells: np.ndarray, n_cells: int, n_atoms: int, weights: np.ndarray | None = None) -> Any:
    """Sum codes in each cell of a pyramid.

    Parameters
    ----------
    codes : Codes
        Of n descriptors.
    cells : array of shape (n, n_levels)
        The cell of each descriptor at each level.
    n_cells, n_atoms : int
    weights : array of shape (n_levels,), optional
        What codes count at each level.

    Returns
    -------
    array of shape (n_cells, n_atoms)

    Examples
    --------
    >>> codes = Codes(np.array([[0], [1], [1]]), np.array([[1.0], [2.0], [3.0]]))
    >>> cell_sums(codes, np.array([[0], [0], [1]]), 2, 2)
    array([[1., 2.],
           [0., 3.]])
    """
    by_level = np.ones(cells.shape[1]) if weights is None else weights
    places = (cells[:, :, None] * n_atoms + codes.indices[:, None, :]).ravel()
    values = (by_level[None, :, None] * codes.values[:, None, :]).ravel()
    return np.bincount(places, values, minlength=n_cells * n_atoms).reshape(n_cells, n_atoms)
