"""DL-COPAR: a dictionary for what classes have in common, and one per class for what is particular to it.

    min over D, X of  Σ_c [ ‖Y_c − X_c D‖² + ‖Y_c − X_c⁰ D₀ − X_c^c D_c‖² + Σ_{j≠c} ‖X_c^j‖² + λ‖X_c‖₁ ]
                      + η Σ_{c≠j} ‖D_c D_jᵀ‖²,   atoms of unit length

D₀ is shared, D_c is of class c. Given D, each code is a lasso with a Gram matrix of its class, solved
exactly; given X, atoms are updated one by one, at unit length, and no update raises the objective.
A test sample is encoded over [D₀, D_c] for each class, and the least ‖y − x⁰D₀ − x^c D_c‖² + λ‖x‖₁ wins.
Wang, Kong: A classification-oriented dictionary learning model, Pattern Recognition 2014.
"""

from __future__ import annotations

import numpy as np

from ddlcn.execution.progress import track
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.fddl import principal, square
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.scoring import ScoringClassifier


class COPAR(ScoringClassifier):
    """Particular and common dictionaries, with the local classifier.

    Parameters
    ----------
    atoms_per_class, shared_atoms : int
    sparsity, incoherence : float
        λ and η.
    passes : int
        Alternations of codes and atoms.

    Attributes
    ----------
    atoms_, atom_classes_ : arrays
        D, and the class of each atom; −1 is shared.
    objective_path_ : ndarray
        The objective after each pass.
    """

    def __init__(
        self,
        atoms_per_class: int = 15,
        shared_atoms: int = 5,
        sparsity: float = 0.005,
        incoherence: float = 0.1,
        passes: int = 4,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.shared_atoms = shared_atoms
        self.sparsity = sparsity
        self.incoherence = incoherence
        self.passes = passes

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        Y, classes = unit_rows(X), range(len(self.classes_))
        first = [principal(Y, self.shared_atoms)]
        first += [principal(Y[targets == c], self.atoms_per_class) for c in classes]
        self.atom_classes_ = np.repeat(np.arange(-1, len(classes)), [len(part) for part in first])
        self.atoms_ = np.concatenate(first)
        check_codes(len(Y), len(self.atoms_))
        path = []
        for _ in track("DL-COPAR", range(self.passes), total=self.passes):
            A = np.empty((len(Y), len(self.atoms_)))
            for c in classes:
                A[targets == c] = self.codes(Y[targets == c], c)
            for k in range(-1, len(classes)):
                self._update_atoms(Y, A, targets, k)
            path.append(self.objective(Y, A, targets))
        self.objective_path_ = np.array(path)

    def objective(self, Y: np.ndarray, A: np.ndarray, targets: np.ndarray) -> float:
        """What is minimised, for samples Y with codes A."""
        D, near = self.atoms_, self._near(targets)
        products = D @ D.T * (self.atom_classes_[:, None] != self.atom_classes_)
        return (
            square(Y - A @ D)
            + square(Y - (A * near) @ D)
            + square(A * ~near)
            + self.sparsity * float(np.abs(A).sum())
            + self.incoherence * square(products)
        )

    def _near(self, targets: np.ndarray) -> np.ndarray:
        """Which atoms are shared or of a sample's own class."""
        return (self.atom_classes_ == -1) | (targets[:, None] == self.atom_classes_)

    def codes(self, Y: np.ndarray, c: int) -> np.ndarray:
        """Best codes of samples of class c."""
        near = self._near(np.array([c]))[0]
        gram = self.atoms_ @ self.atoms_.T * (1.0 + np.outer(near, near)) + np.diag(1.0 - near)
        target = Y @ self.atoms_.T * (1.0 + near)
        return lasso_codes(gram, target, self.sparsity / 2, len(gram))

    def _update_atoms(self, Y: np.ndarray, A: np.ndarray, targets: np.ndarray, k: int) -> None:
        """Each atom of class k (−1: shared) in turn, the rest fixed."""
        D, own = self.atoms_, self.atom_classes_ == k
        near, seen = self._near(targets), (targets == k) | (k == -1)  # samples whose second term has these atoms
        B, rest = A[:, own], D[~own]
        goal = B.T @ (Y - A[:, ~own] @ rest)
        goal += B[seen].T @ (Y[seen] - (A * near)[np.ix_(seen, ~own)] @ rest)
        products = B.T @ B + B[seen].T @ B[seen]
        D[own] = incoherent_atoms(D[own], goal, products, rest, self.incoherence)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        Y, scores = unit_rows(X), []
        for c in range(len(self.classes_)):
            D = self.atoms_[self._near(np.array([c]))[0]]
            x = lasso_codes(D @ D.T, Y @ D.T, self.sparsity / 2, len(D))
            left = Y - x @ D
            scores.append(-np.einsum("ij,ij->i", left, left) - self.sparsity * np.abs(x).sum(axis=1))
        return np.stack(scores, axis=1)


def incoherent_atoms(
    atoms: np.ndarray, goal: np.ndarray, products: np.ndarray, rest: np.ndarray, incoherence: float
) -> np.ndarray:
    """Atoms d one by one, to lower Σ_i products_ii‖d_i‖² − 2 d_i·pull_i + 2η‖D restᵀ‖² at unit length.

    The last term, η for both orders of a pair, is held below a parabola of one curvature that touches it at
    the present atom; at unit length the minimum is then a direction, and the objective never rises.
    """
    atoms, weight = atoms.copy(), 2 * incoherence
    curvature = weight * float(np.abs(rest @ rest.T).sum(axis=1).max(initial=0))
    for i, atom in enumerate(atoms):
        pull = goal[i] - products[i] @ atoms + products[i, i] * atom
        pull += curvature * atom - weight * (rest @ atom) @ rest
        if products[i, i] > 1e-12 and (length := np.linalg.norm(pull)) > 1e-12:
            atoms[i] = pull / length
    return atoms
