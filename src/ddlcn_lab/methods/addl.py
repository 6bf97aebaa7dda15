"""Analysis discriminative dictionary learning: codes by one matrix product.

    min over D, S, P, W of  Σ_c [ ‖Y_c − S_c D_c‖² + α‖S_c‖₂,₁ ] + η Σ_{c≠j} ‖D_c D_jᵀ‖²
                            + τ‖S − YP‖² + μ‖H − YPW‖² + ρ(‖P‖² + ‖W‖²),   atoms of unit length

S is block diagonal: samples of class c have codes S_c over the atoms D_c of their class, and zeros elsewhere.
‖S_c‖₂,₁ is the sum over atoms of the length of all their coefficients, so that whole atoms switch off. P
maps a sample to such codes, and W the labels H (one-hot) from them: the label of a test
sample is the largest entry of yPW. Given the rest, P is the root of a Sylvester equation, W a ridge fit, and
S takes reweighted ridge steps, none of which raises the objective. Zhang, Jiang, Qin, Zhang, Li, Zhang, Yan:
Jointly learning structured analysis discriminative dictionary and analysis multiclass classifier, TNNLS 2018;
the terms are as its abstract names them, the weights ours.
"""

from __future__ import annotations

import numpy as np

from ddlcn.execution.progress import track
from ddlcn_lab.methods.copar import incoherent_atoms
from ddlcn_lab.methods.fddl import class_directions, square
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.ksvd import ridge_fit
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.scoring import ScoringClassifier

_STEPS = 3  # reweighted steps of the codes in one pass


class ADDL(ScoringClassifier):
    """Structured analysis dictionary and classifier.

    Parameters
    ----------
    atoms_per_class : int
    group, incoherence : float
        α and η.
    bridge, fidelity, ridge : float
        τ, μ and ρ.
    passes : int
        Alternations of codes, atoms, P and W.

    Attributes
    ----------
    atoms_, atom_classes_ : arrays
        D, and the class of each atom.
    projection_, weights_ : arrays
        P and W.
    objective_path_ : ndarray
        The objective after each pass.
    """

    def __init__(
        self,
        atoms_per_class: int = 15,
        group: float = 0.01,
        incoherence: float = 0.001,
        bridge: float = 0.1,
        fidelity: float = 0.1,
        ridge: float = 0.01,
        passes: int = 5,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.group = group
        self.incoherence = incoherence
        self.bridge = bridge
        self.fidelity = fidelity
        self.ridge = ridge
        self.passes = passes

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        Y, classes = unit_rows(X), range(len(self.classes_))
        self.atoms_, self.atom_classes_ = class_directions(Y, targets, self.atoms_per_class)
        check_codes(len(Y), len(self.atoms_))
        H, values = np.eye(len(classes))[targets], np.linalg.eigh(Y.T @ Y)
        S = np.where(targets[:, None] == self.atom_classes_, Y @ self.atoms_.T, 0.0)
        self.weights_ = ridge_fit(S, H, self.ridge)
        path = []
        for _ in track("ADDL", range(self.passes), total=self.passes):
            self.projection_ = self.project(Y, S, H, values)
            self.weights_ = ridge_fit(Y @ self.projection_, H, self.ridge / max(self.fidelity, 1e-12))
            for c in classes:
                mine, own = targets == c, self.atom_classes_ == c
                S[np.ix_(mine, own)] = self.codes(Y[mine], S[np.ix_(mine, own)], own)
                block = S[np.ix_(mine, own)]
                self.atoms_[own] = incoherent_atoms(
                    self.atoms_[own], block.T @ Y[mine], block.T @ block, self.atoms_[~own], self.incoherence
                )
            path.append(self.objective(Y, S, H))
        self.objective_path_ = np.array(path)

    def objective(self, Y: np.ndarray, S: np.ndarray, H: np.ndarray) -> float:
        """What is minimised, for samples Y with codes S and labels H."""
        D, P, W, own = self.atoms_, self.projection_, self.weights_, H[:, self.atom_classes_] == 1
        lengths = np.sqrt([(np.where(own, S, 0.0)[:, k] ** 2).sum() for k in range(len(D))])
        return (
            square(Y - S @ D)
            + self.group * float(lengths.sum())
            + self.incoherence * square(D @ D.T * (self.atom_classes_[:, None] != self.atom_classes_))
            + self.bridge * square(S - Y @ P)
            + self.fidelity * square(H - Y @ P @ W)
            + self.ridge * (square(P) + square(W))
        )

    def project(
        self, Y: np.ndarray, S: np.ndarray, H: np.ndarray, spectrum: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Best P: YᵀY P (τI + μWWᵀ) + ρP = Yᵀ(τS + μHWᵀ), with `spectrum` the eigenpairs of YᵀY."""
        W, (e, U) = self.weights_, spectrum
        m, V = np.linalg.eigh(self.bridge * np.eye(len(W)) + self.fidelity * W @ W.T)
        goal = Y.T @ (self.bridge * S + self.fidelity * H @ W.T)
        return U @ (U.T @ goal @ V / (np.outer(e, m) + self.ridge)) @ V.T

    def codes(self, Y: np.ndarray, S: np.ndarray, own: np.ndarray, steps: int = _STEPS) -> np.ndarray:
        """Codes of samples of a class over its `own` atoms: S after some reweighted ridge steps."""
        D = self.atoms_[own]
        goal = Y @ (D.T + self.bridge * self.projection_[:, own])
        for _ in range(steps):
            weights = self.group / (2 * np.maximum(np.linalg.norm(S, axis=0), 1e-9))
            S = np.linalg.solve(D @ D.T + np.diag(self.bridge + weights), goal.T).T
        return S

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return unit_rows(X) @ self.projection_ @ self.weights_
