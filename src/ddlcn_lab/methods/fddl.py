"""Fisher discrimination dictionary learning.

    min over D, X of  Σ_i [ ‖Y_i − X_i D‖² + ‖Y_i − X_i^i D_i‖² + Σ_{j≠i} ‖X_i^j D_j‖² ]
                      + λ₁‖X‖₁ + λ₂( tr S_W(X) − tr S_B(X) + η‖X‖² ),   atoms of unit length

Y_i are the samples of class i, X_i^j their codes over the atoms D_j of class j. S_W and S_B are the scatter
of codes within and between classes; η = 1 makes the whole convex in X_i. Codes are solved by accelerated
proximal gradients (FISTA), atoms one by one in closed form. A test sample is encoded by the lasso over all
of D, and the class with the least ‖y − x^i D_i‖² + w‖x − m_i‖² wins, m_i being the mean code of class i.
Yang, Zhang, Feng, Zhang: Sparse representation based Fisher discrimination dictionary learning, IJCV 2014.
"""

from __future__ import annotations

import numpy as np

from ddlcn.execution.progress import track
from ddlcn_lab.kernels.sparse_codes import lasso_codes
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.scoring import ScoringClassifier, residuals


class FDDL(ScoringClassifier):
    """Fisher discrimination dictionary learning, with the global classifier.

    Parameters
    ----------
    atoms_per_class : int
    sparsity, fisher : float
        λ₁ and λ₂.
    penalty, mean_weight : float
        λ of test codes, and w.
    passes, steps : int
        Alternations, and proximal steps of each class in one of them.

    Attributes
    ----------
    atoms_, atom_classes_, means_ : arrays
        D, the class of each atom, and the mean code of each class.
    objective_path_ : ndarray
        The objective after each pass.
    """

    def __init__(
        self,
        atoms_per_class: int = 15,
        sparsity: float = 0.005,
        fisher: float = 0.05,
        penalty: float = 0.001,
        mean_weight: float = 0.05,
        passes: int = 5,
        steps: int = 15,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.fisher = fisher
        self.penalty = penalty
        self.mean_weight = mean_weight
        self.passes = passes
        self.steps = steps

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        Y, classes = unit_rows(X), range(len(self.classes_))
        self.atoms_, self.atom_classes_ = class_directions(Y, targets, self.atoms_per_class)
        check_codes(len(Y), len(self.atoms_))
        A = np.zeros((len(Y), len(self.atoms_)))
        for c in classes:
            own = self.atoms_[self.atom_classes_ == c]
            A[np.ix_(targets == c, self.atom_classes_ == c)] = Y[targets == c] @ own.T / len(own)
        path = []
        for _ in track("FDDL", range(self.passes), total=self.passes):
            # the three fidelity terms are one quadratic: all of DDᵀ, and its blocks class by class
            gram = self.atoms_ @ self.atoms_.T * (1.0 + (self.atom_classes_[:, None] == self.atom_classes_))
            bound = float(np.linalg.eigvalsh(gram)[-1])
            for c in classes:
                A[targets == c] = self._codes(Y, A, targets, c, gram, bound)
            for c in classes:
                self._update_atoms(Y, A, targets, c)
            path.append(self.objective(Y, A, targets))
        self.objective_path_ = np.array(path)
        self.means_ = _class_means(A, targets)

    def objective(self, Y: np.ndarray, A: np.ndarray, targets: np.ndarray) -> float:
        """What is minimised, for samples Y with codes A."""
        D, own = self.atoms_, targets[:, None] == self.atom_classes_
        fidelity = square(Y - A @ D) + square(Y - (A * own) @ D)
        other = sum(
            square(A[np.ix_(targets != c, self.atom_classes_ == c)] @ D[self.atom_classes_ == c])
            for c in range(len(self.classes_))
        )
        means, mean = _class_means(A, targets), A.mean(axis=0)
        within, between = square(A - means[targets]), square(means[targets] - mean)
        return fidelity + other + self.sparsity * np.abs(A).sum() + self.fisher * (within - between + square(A))

    def _codes(
        self, Y: np.ndarray, A: np.ndarray, targets: np.ndarray, c: int, gram: np.ndarray, bound: float
    ) -> np.ndarray:
        """FISTA on the codes of class c, the codes of other classes fixed."""
        mine = targets == c
        target = Y[mine] @ self.atoms_.T * (1.0 + (self.atom_classes_ == c))
        others, step = A[~mine].sum(axis=0), 1 / (2 * bound + 4 * self.fisher)
        x = previous = A[mine]
        momentum = 1.0
        for _ in range(self.steps):
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            z = x + (momentum - 1) / following * (x - previous)
            momentum = following
            mean, whole = z.mean(axis=0), (others + z.sum(axis=0)) / len(Y)
            scatter = (z - mean) - (mean - whole) + z  # half the gradient of tr S_W − tr S_B + ‖X‖²
            moved = z - 2 * step * (z @ gram - target + self.fisher * scatter)
            x, previous = np.sign(moved) * np.maximum(np.abs(moved) - step * self.sparsity, 0), x
        return x

    def _update_atoms(self, Y: np.ndarray, A: np.ndarray, targets: np.ndarray, c: int) -> None:
        """Each atom of class c in turn: the direction that lowers the objective most, the rest fixed."""
        D, own, mine = self.atoms_, self.atom_classes_ == c, targets == c
        rest = Y - A[:, ~own] @ D[~own]  # of the first term; the others: Y_c, and zero for other classes
        B = A[:, own]
        goal = B.T @ rest + B[mine].T @ Y[mine]
        products = 2 * B.T @ B
        atoms = D[own]
        for k in range(len(atoms)):
            pull = goal[k] - products[k] @ atoms + products[k, k] * atoms[k]
            if (length := np.linalg.norm(pull)) > 1e-12:
                atoms[k] = pull / length
        D[own] = atoms

    def _scores(self, X: np.ndarray) -> np.ndarray:
        Y, D = unit_rows(X), self.atoms_
        x = lasso_codes(D @ D.T, Y @ D.T, self.penalty, D.shape[1] + 1)
        distances = ((x[:, None, :] - self.means_) ** 2).sum(axis=2)
        return -(residuals(Y, x, D, self.atom_classes_) + self.mean_weight * distances)


def principal(Y: np.ndarray, n_atoms: int) -> np.ndarray:
    """Up to n_atoms leading directions of the rows of Y."""
    return np.linalg.svd(Y, full_matrices=False)[2][:n_atoms]


def class_directions(Y: np.ndarray, targets: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to n_atoms leading directions of the rows of each class, and the class of each."""
    parts = [principal(Y[targets == c], n_atoms) for c in range(targets.max() + 1)]
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _class_means(A: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.stack([A[targets == c].mean(axis=0) for c in range(targets.max() + 1)])


def square(A: np.ndarray) -> float:
    """‖A‖²."""
    return float(np.einsum("ij,ij->", A, A))
