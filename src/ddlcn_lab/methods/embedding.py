"""A CNN with an embedding term: images that are neighbours get similar outputs.

    Σ_i Σ_c max(0, 1 − y_ic f_c(x_i)) + λ Σ_{i,j} L(f(x_i), f(x_j), W_ij),
    L = ‖f_i − f_j‖² if W_ij = 1 (neighbours),   max(0, m − ‖f_i − f_j‖)² if W_ij = 0

y_ic is 1 for the class of image i and −1 for others. W links each image with its k nearest ones by pixels; it needs no
labels, so that unlabelled images could take part (a bench has none: all training images have labels). f are the
network's outputs, one per class. Each step takes some labelled images, as many pairs of neighbours and as many random
pairs. Weston, Ratle, Mobahi, Collobert: Deep learning via semi-supervised embedding, 2012 (ICML 2008), whose Embed CNN
this is, on the layers of our `SmallCNN` without dropout. Needs the extra `cnn`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddlcn.blas import one_blas_thread
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.nbnn import nearest
from ddlcn_lab.methods.networks import SmallCNN, import_torch


class EmbedCNN(SmallCNN):
    """A small CNN trained with the embedding term on its outputs.

    Parameters
    ----------
    epochs, learning_rate, longest_side, random_state
        As in `SmallCNN`.
    embedding, margin : float
        λ and m.
    n_neighbors : int
        k.

    Attributes
    ----------
    neighbors_ : ndarray of shape (n_images, k)
        Training images nearest to each.
    """

    def __init__(
        self,
        epochs: int = 20,
        learning_rate: float = 1e-3,
        longest_side: int | None = 48,
        random_state: int = 0,
        embedding: float = 0.1,
        margin: float = 1.0,
        n_neighbors: int = 10,
    ) -> None:
        super().__init__(epochs, learning_rate, longest_side, random_state)
        self.embedding = embedding
        self.margin = margin
        self.n_neighbors = n_neighbors

    def _prepare(self, x: Any) -> None:
        pixels, k = x.flatten(1).numpy(), min(self.n_neighbors, len(x) - 1)
        check_memory(2 * pixels.nbytes + 4096 * len(x), f"distances of {len(x)} images", "set longest_side lower")
        found = []
        with one_blas_thread():
            for start in range(0, len(pixels), 256):
                squared, numbers = nearest(pixels[start : start + 256], pixels, k + 1)
                own = numbers == np.arange(start, start + len(numbers))[:, None]
                squared = np.where(own, np.inf, squared)  # an image is no neighbour of itself
                found.append(np.take_along_axis(numbers, np.argsort(squared, axis=1)[:, :k], axis=1))
        self.neighbors_ = np.concatenate(found)

    def _loss(self, x: Any, target: Any, rows: Any) -> Any:
        torch = import_torch()
        near = torch.from_numpy(self.neighbors_)[rows, torch.randint(self.neighbors_.shape[1], (len(rows),))]
        far = torch.randint(len(x), (len(rows),))
        self.network_.eval()  # no dropout, whose noise would count as distance
        f, f_near, f_far = self.network_(torch.cat([x[rows], x[near], x[far]])).split(len(rows))
        # a random pair counts as W = 0, as in the paper, even if by chance it is one of neighbours
        pull, push = embedding_loss(torch, f, f_near, None), embedding_loss(torch, f, f_far, self.margin)
        signs = 2 * torch.nn.functional.one_hot(target[rows], f.shape[1]) - 1
        hinge = torch.clamp(1 - signs * f, min=0).sum(dim=1).mean()
        return hinge + self.embedding * (pull + push)


def embedding_loss(torch: Any, f: Any, g: Any, margin: float | None) -> Any:
    """Mean of L over pairs of rows: neighbours without a margin, others with one.

    Parameters
    ----------
    torch : module
    f, g : tensors of shape (n, n_outputs)
    margin : float or None

    Returns
    -------
    tensor
    """
    squared = ((f - g) ** 2).sum(dim=1)
    if margin is None:
        return squared.mean()
    return (torch.clamp(margin - torch.sqrt(squared + 1e-12), min=0) ** 2).mean()
