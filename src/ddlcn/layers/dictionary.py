"""Dictionary learning layers (Eqs. 2 to 4).

    min over D, α_i of  (1/n) Σ_i ½‖y_i − Dα_i‖²   subject to  ‖α_i‖₁ ≤ λ,  ‖d_j‖₂ ≤ 1

The first layer learns a dictionary for each class from its descriptors (Eq. 2); a deeper layer learns one
from the atoms of the layer before (Eqs. 3 and 4). Samples and atoms are rows here; the paper writes columns.
"""

from __future__ import annotations

from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.kernels import l1ball
from ddlcn.layers.part import Part
from ddlcn.rules import AUTO, COUNT, NOTHING, list_of, number, whole

_ENOUGH = 50  # samples per atom
_LEAST_AUTO, _TOTAL_AUTO = 15, 1024  # atoms per class at least, and atoms in all
_TEACHING = 2 / 3  # of the images of a class, by "auto"
_ATOMS = whole(1, 1 << 16)
_BEYOND = 0.8  # of a step, added to it: two thirds of the passes to an objective no worse


def l1_ball_codes(Y: ArrayLike, atoms: ArrayLike, l1_radius: float = 0.35) -> np.ndarray:
    """Exact codes of min ½‖y − Dα‖² subject to ‖α‖₁ ≤ radius, one row for each row of `Y`.

    >>> l1_ball_codes([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], l1_radius=0.35)
    array([[0.35, 0.  ]])
    """
    Y, atoms = np.asarray(Y, dtype=np.float64), np.asarray(atoms, dtype=np.float64)
    energies = np.einsum("ij,ij->i", Y, Y)
    return l1ball.l1_ball_codes(atoms @ atoms.T, Y @ atoms.T, energies, Y.shape[1], float(l1_radius))


class L1BallDictionary(TransformerMixin, BaseEstimator):
    """A dictionary under the L1-ball constraint (Eqs. 2 to 4), by alternating exact minimisation.

    Each pass codes all samples exactly (homotopy) and then minimises over each atom in turn, so the
    objective never rises. Where samples are many, a quarter of them is learnt first. Atoms that no sample
    uses are moved to the samples that are explained worst.

    Parameters
    ----------
    n_atoms : int
        More atoms than samples are allowed: the surplus starts between pairs of samples.
    l1_radius : float
        λ, the radius of the L1 ball.
    max_passes, tol : int, float
        Stop after so many passes, or when a pass lowers the objective by less than `tol` of itself.
    random_state : int, RandomState or None
        Seeds the choice of the first atoms.

    Attributes
    ----------
    components_ : ndarray of shape (n_atoms, n_features)
    objective_path_ : ndarray
        The objective of the codes found in each pass over the samples; with more atoms than features, those
        that lie in the hull of the first atoms count as zero from then on.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).normal(size=(50, 8))
    >>> dictionary = L1BallDictionary(n_atoms=3, random_state=0).fit(Y)
    >>> dictionary.components_.shape, dictionary.transform(Y).shape
    ((3, 8), (50, 3))
    """

    def __init__(
        self,
        n_atoms: int = 15,
        l1_radius: float = 0.35,
        max_passes: int = 100,
        tol: float = 2e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.l1_radius = l1_radius
        self.max_passes = max_passes
        self.tol = tol
        self.random_state = random_state

    def fit(self, Y: ArrayLike, y: object = None) -> L1BallDictionary:
        """Learn the atoms of the samples in the rows of `Y`."""
        samples = validate_data(self, Y, dtype=np.float32, order="C")
        if self.n_atoms < 1 or not 0 < self.l1_radius < np.inf:
            raise DDLCNError(f"n_atoms={self.n_atoms} and l1_radius={self.l1_radius} must be positive numbers")
        rng = check_random_state(self.random_state)
        radius = float(self.l1_radius)
        few = np.ascontiguousarray(samples[::4])
        with one_blas_thread():
            if len(few) >= _ENOUGH * self.n_atoms:  # first passes on a quarter of the samples
                atoms = _first_atoms(few, self.n_atoms, rng)
                atoms, _ = _learn(few, atoms, radius, self.max_passes, 3 * self.tol)
            else:
                atoms = _first_atoms(samples, self.n_atoms, rng)
            self.components_, path = _learn(samples, atoms, radius, self.max_passes, self.tol)
        self.objective_path_ = np.array(path)
        self.n_iter_ = len(path)
        return self

    def transform(self, Y: ArrayLike) -> np.ndarray:
        """Exact L1-ball codes of the rows of `Y`, dense."""
        check_is_fitted(self)
        return l1_ball_codes(validate_data(self, Y, reset=False), self.components_, self.l1_radius)


class DictionaryLearning(Part):
    """How the dictionaries of a channel are learnt: the first per class (Eq. 2), deeper ones on atoms (Eqs. 3, 4).

    Parameters
    ----------
    images_per_class : int, None or "auto"
        p, the training images per class that its dictionary is learnt from; None is all of them ("A"). "auto" is two
        thirds of them, at most as many as atoms or 15: the others are held out to choose and calibrate with.
    atoms_per_class : int or "auto"
        q, the atoms per class of the first dictionary; "auto" is 1,024 / number of classes, but at least 15.
    deeper_atoms : tuple of int
        s2, …, sn, the atoms of each deeper dictionary; () is one layer.
    l1_radius : float
        λ, the radius of the L1 ball.
    max_descriptors : int
        Descriptors per class that its dictionary is learnt on, evenly drawn from its images.
    n_components : int, optional
        Reduce descriptors to so many principal components of those of the training images, and to unit length.

    Examples
    --------
    >>> dictionary = DictionaryLearning().resolved(n_classes=10)
    >>> dictionary.atoms_per_class, dictionary.n_images(20), dictionary.n_images(1000)
    (103, 13, 103)
    """

    role, later = "dictionary", ("n_components",)
    rules: ClassVar = {
        "images_per_class": COUNT | NOTHING | AUTO,
        "atoms_per_class": _ATOMS | AUTO,
        "deeper_atoms": list_of(_ATOMS, 0, 16),
        "l1_radius": number(1e-9, 1e9),
        "max_descriptors": COUNT,
        "n_components": whole(1, 1 << 12) | NOTHING,
    }

    def __init__(
        self,
        images_per_class: int | str | None = "auto",
        atoms_per_class: int | str = "auto",
        deeper_atoms: tuple[int, ...] = (64,),
        l1_radius: float = 0.35,
        max_descriptors: int = 10_000,
        n_components: int | None = None,
    ) -> None:
        self.images_per_class = images_per_class
        self.atoms_per_class = atoms_per_class
        self.deeper_atoms = deeper_atoms
        self.l1_radius = l1_radius
        self.max_descriptors = max_descriptors
        self.n_components = n_components

    def resolved(self, n_classes: int) -> DictionaryLearning:
        """Return a copy with a number of atoms in place of "auto".

        Parameters
        ----------
        n_classes : int

        Returns
        -------
        DictionaryLearning
        """
        self.check()
        q = max(_LEAST_AUTO, ceil(_TOTAL_AUTO / n_classes)) if self.atoms_per_class == "auto" else self.atoms_per_class
        return clone(self).set_params(atoms_per_class=q)

    def n_images(self, available: int) -> int:
        """Return how many of the images of a class teach its dictionary."""
        if isinstance(self.images_per_class, str):
            assert not isinstance(self.atoms_per_class, str)  # resolved
            return min(max(1, round(available * _TEACHING)), max(_LEAST_AUTO, self.atoms_per_class))
        return min(available, self.images_per_class or available)

    def sample(self, descriptors: list[np.ndarray]) -> np.ndarray:
        """Draw at most `max_descriptors` of the descriptors of some images, evenly."""
        per_image = max(1, self.max_descriptors // len(descriptors))
        return np.concatenate([values[:: -(-len(values) // per_image)] for values in descriptors])

    def learn(self, samples: np.ndarray, seed: int) -> np.ndarray:
        """Learn the dictionary of one class from descriptors of its images: (q, n_features)."""
        assert not isinstance(self.atoms_per_class, str)
        return L1BallDictionary(self.atoms_per_class, self.l1_radius, random_state=seed).fit(samples).components_

    def learn_deeper(self, atoms: np.ndarray, random_state: int) -> tuple[np.ndarray, ...]:
        """Learn each deeper dictionary on the atoms of the one before; the first is given and comes first."""
        found = [atoms]
        for depth, n_atoms in enumerate(self.deeper_atoms, start=1):
            seed = class_seeds(random_state, depth)[-1]
            deeper = L1BallDictionary(n_atoms, self.l1_radius, random_state=seed).fit(found[-1])
            found.append(deeper.components_)
        return tuple(found)


def principal_components(samples: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean of samples, and the directions of their largest variances in rows."""
    mean = samples.mean(axis=0, dtype=np.float64)
    with one_blas_thread():
        centred = (samples - mean).astype(np.float32)
        _, vectors = np.linalg.eigh(centred.T @ centred)
    rows = np.ascontiguousarray(vectors.T[::-1][:n_components])
    return mean.astype(np.float32), rows.astype(np.float32)


def reduced(values: np.ndarray, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Descriptors by their principal components, at unit length."""
    with one_blas_thread():
        found = (values - mean) @ components.T
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-12))


def class_seeds(random_state: int | np.random.RandomState | None, n_classes: int) -> np.ndarray:
    """A seed for each class, so that classes can be learnt in any order and on any number of threads."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_classes)


def _first_atoms(Y: np.ndarray, n_atoms: int, rng: np.random.RandomState) -> np.ndarray:
    """Distinct samples, far apart (k-means++ on directions); a surplus starts midway between two samples."""
    lengths = np.linalg.norm(Y, axis=1, keepdims=True)
    directions = Y / np.maximum(lengths, 1e-12)
    chosen = np.empty((n_atoms, Y.shape[1]), np.float32)
    # what an atom in direction d leaves of y is largest where y is long and far from d
    weight = lengths.ravel().astype(np.float64) ** 2
    far = np.ones(len(Y))
    for j in range(n_atoms):
        share = np.cumsum(weight * far)
        if share[-1] > 1e-9:
            pick = np.searchsorted(share, rng.uniform() * share[-1], side="right")
            chosen[j] = directions[min(pick, len(Y) - 1)]
        else:
            a, b = rng.randint(len(Y), size=2)
            middle = directions[a] + rng.uniform(0.25, 0.75) * (directions[b] - directions[a])
            chosen[j] = middle / max(np.linalg.norm(middle), 1e-12)
        far = np.minimum(far, np.maximum(1 - np.abs(directions @ chosen[j]) - 1e-6, 0))
    return chosen


def _learn(
    Y: np.ndarray, atoms: np.ndarray, radius: float, max_passes: int, tol: float
) -> tuple[np.ndarray, list[float]]:
    """Codes and atoms in turn; atoms go beyond each step, by part of it, and back if that was too far.

    More atoms than dimensions have a hull that holds short samples, at a loss of zero. These take the longest
    to code, and where they are they pull at no atom, so after the first pass they count as lost no more.
    """
    ahead = atoms = atoms.astype(np.float64)
    n_samples, losses = len(Y), np.empty(len(Y))
    energies = np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
    held, correlations = np.zeros((len(Y), 4), np.int32), np.empty((len(Y), len(atoms)), np.float32)
    path: list[float] = []
    for _ in range(max(1, max_passes)):
        np.matmul(Y, ahead.T.astype(np.float32), out=correlations)
        products, samples = l1ball.accumulate(Y, ahead @ ahead.T, correlations, energies, radius, held, losses)
        loss = float(losses.sum()) / n_samples
        if path and loss > path[-1] and ahead is not atoms:
            ahead = atoms
            continue
        path.append(loss)
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-2]:
            break
        if len(path) == 1 and len(atoms) > Y.shape[1]:
            pulling = losses > l1ball.CLOSE * (energies + radius**2)
            Y, energies, held, losses = Y[pulling], energies[pulling], held[pulling], losses[pulling]
            correlations = correlations[: len(Y)]
        before, atoms = atoms, ahead.copy()
        l1ball.update_atoms(atoms, products, samples)
        unused = np.flatnonzero(np.diag(products) <= l1ball.TINY)
        if len(unused):
            worst = np.argsort(-losses, kind="stable")[: len(unused)]
            lengths = np.linalg.norm(Y[worst], axis=1, keepdims=True)
            atoms[unused[: len(worst)]] = Y[worst] / np.maximum(lengths, 1e-12)
        if len(unused) or len(path) == 1:
            ahead = atoms
        else:
            ahead = atoms + _BEYOND * (atoms - before)
            ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1)
    else:
        ahead = atoms
    return ahead.astype(np.float32), path
