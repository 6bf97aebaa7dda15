"""Bayesian dictionaries with a Bernoulli distribution for each class and atom: DBDL and JBDC.

    y_i = (z_i ⊙ s_i)D + ε_i,   z_ik ~ Bernoulli(π_ck),  π_ck ~ Beta(a/K, b(K − 1)/K),
    s_ik ~ N(0, 1/λ_c),  d_k ~ N(0, I/d),  ε_i ~ N(0, I/γ_c),   λ_c, γ_c ~ Gamma(10⁻⁶, 10⁻⁶)

for a sample i of class c; the one-hot rows h_i of the labels have a model of the same form, whose atoms are
the rows of a linear classifier W, with the same π. All are drawn by Gibbs sampling, and D and W are means of
the draws after the first half. Atoms that no class uses any more are dropped, so that the data determine
their number. A test sample is encoded over D by orthogonal matching pursuit, and the largest entry of xW wins.

DBDL learns D and π first and W after that, π held (Akhtar, Shafait, Mian: Discriminative Bayesian dictionary
learning for classification, PAMI 2016); JBDC draws all together (Akhtar, Mian, Porikli, CVPR 2017).
"""

from __future__ import annotations

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn_lab.kernels.gibbs import draw_codes
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.ksvd import omp_codes, ridge_fit
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.representation import draw
from ddlcn_lab.methods.scoring import ScoringClassifier

_VAGUE = 1e-6  # shape and rate of the Gamma priors
_UNUSED = 1e-3  # an atom that no class uses with more than this probability is dropped


class BayesianDictionary(ScoringClassifier):
    """DBDL, or JBDC if `joint`.

    Parameters
    ----------
    joint : bool
        Draw the classifier together with the dictionary.
    atoms_per_class : int
        Training rows per class that are the first atoms; at most two thirds of the smallest class.
    sparsity : int
        Entries of a test sample's code.
    sweeps : int
        Gibbs sweeps.
    random_state : int

    Attributes
    ----------
    atoms_, weights_ : arrays
        D and W.
    usage_ : ndarray of shape (n_classes, n_atoms)
        Mean π.
    """

    def __init__(
        self,
        joint: bool = False,
        atoms_per_class: int = 15,
        sparsity: int = 50,
        sweeps: int = 60,
        random_state: int = 0,
    ) -> None:
        self.joint = joint
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.sweeps = sweeps
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        if self.sweeps < 2 or self.sparsity < 1:
            raise DDLCNError(f"sweeps={self.sweeps}, sparsity={self.sparsity}: give at least 2 and 1")
        rng = np.random.default_rng(self.random_state)
        Y, H = unit_rows(X), np.eye(len(self.classes_))[targets]
        # samples that are atoms themselves have codes of one entry, from which no classifier can be learnt
        most = max(1, 2 * int(np.bincount(targets).min()) // 3)
        first = draw(targets, min(self.atoms_per_class, most), self.random_state)
        D, atom_classes = Y[first], targets[first]
        check_codes(len(Y), len(D))
        A = np.zeros((len(Y), len(D)))
        for c in range(len(self.classes_)):  # the chain starts where each class uses its own atoms
            A[np.ix_(targets == c, atom_classes == c)] = omp_codes(Y[targets == c], D[atom_classes == c], self.sparsity)
        faces, labels = Factors(Y, D, A, targets), Factors(H, ridge_fit(A, H, 1.0), A.copy(), targets)
        if self.joint:
            self.usage_, self.atoms_, self.weights_ = self._sample("JBDC", [faces, labels], rng)
        else:
            self.usage_, self.atoms_ = self._sample("DBDL", [faces], rng)
            labels.keep(self._kept)
            _, self.weights_ = self._sample("DBDL classifier", [labels], rng, self.usage_)

    def _sample(
        self, stage: str, models: list[Factors], rng: np.random.Generator, usage: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """Means of π, unless it is held at `usage`, and of each model's atoms."""
        sums: list[np.ndarray] | None = None
        for sweep in track(stage, range(self.sweeps), total=self.sweeps):
            pi = self._draw_usage(models, rng) if usage is None else usage
            for model in models:
                model.draw(pi, rng)
            if sweep == self.sweeps // 2 and usage is None:
                self._kept = pi.max(axis=0) > _UNUSED
                pi = pi[:, self._kept]
                for model in models:
                    model.keep(self._kept)
            if sweep >= self.sweeps // 2:
                drawn = [pi, *(model.atoms for model in models)]
                sums = [a + b for a, b in zip(sums, drawn, strict=True)] if sums else [*map(np.copy, drawn)]
        return [total / (self.sweeps - self.sweeps // 2) for total in sums or ()]

    def _draw_usage(self, models: list[Factors], rng: np.random.Generator) -> np.ndarray:
        """π given which samples of each class use which atoms, in all models."""
        used = np.sum([model.used() for model in models], axis=0)
        most = len(models) * np.bincount(models[0].classes)[:, None]
        K = used.shape[1]
        return np.clip(rng.beta(1 / K + used, (K - 1) / K + most - used), 1e-12, 1 - 1e-12)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return omp_codes(unit_rows(X), self.atoms_, self.sparsity) @ self.weights_


class Factors:
    """One draw of y = aD + ε: atoms, codes a = z ⊙ s, and the precisions γ and λ of each class."""

    def __init__(self, Y: np.ndarray, atoms: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> None:
        self.Y, self.atoms, self.codes, self.classes = Y, atoms.copy(), codes, classes
        self.noise = self.spread = np.ones(classes.max() + 1)

    def used(self) -> np.ndarray:
        """Samples of each class that use each atom."""
        return np.stack([(self.codes[self.classes == c] != 0).sum(axis=0) for c in range(len(self.noise))])

    def keep(self, atoms: np.ndarray) -> None:
        """Drop all atoms but these."""
        self.atoms, self.codes = self.atoms[atoms], np.ascontiguousarray(self.codes[:, atoms])

    def draw(self, pi: np.ndarray, rng: np.random.Generator) -> None:
        """Precisions, codes and atoms, each given all the rest."""
        self._draw_precisions(rng)
        c, D, shape = self.classes, self.atoms, self.codes.shape
        prior = (np.log(pi) - np.log1p(-pi))[c], self.noise[c], self.spread[c]
        random = rng.logistic(size=shape), rng.standard_normal(shape)
        draw_codes(D @ D.T, self.Y @ D.T, *prior, *random, self.codes)
        self._draw_atoms(rng)

    def _draw_precisions(self, rng: np.random.Generator) -> None:
        left = self.Y - self.codes @ self.atoms
        n = len(self.noise)
        error, size = (np.bincount(self.classes, (e * e).sum(axis=1), n) for e in (left, self.codes))
        entries = np.bincount(self.classes, minlength=n) * left.shape[1]
        self.noise = rng.gamma(_VAGUE + entries / 2) / (_VAGUE + error / 2)
        self.spread = rng.gamma(_VAGUE + self.used().sum(axis=1) / 2) / (_VAGUE + size / 2)

    def _draw_atoms(self, rng: np.random.Generator) -> None:
        weighted = self.codes.T * self.noise[self.classes]
        products, goal = weighted @ self.codes, weighted @ self.Y
        noise = rng.standard_normal(self.atoms.shape)
        for k, atom in enumerate(self.atoms):
            precision = len(atom) + products[k, k]
            pull = goal[k] - products[k] @ self.atoms + products[k, k] * atom
            self.atoms[k] = pull / precision + noise[k] / np.sqrt(precision)
