"""Dictionary and classifier by multi-block alternating proximal steps on an ℓ₀ problem.

    min over D, X, W of  ½‖Y − XD‖² + ½β‖H − XW‖² + ½ρ‖W‖² + λ‖X‖₀,   atoms of unit length,  |X| ≤ M

H has the classes of the samples (one-hot). In each pass, every column of X takes a proximal gradient step with its own
step 1/L_j, L_j = 1.01 (‖d_j‖² + β‖w_j‖²), then a hard threshold: the exact minimum of a bound on the objective that
touches it at the present column. Then every atom moves to the direction that minimises the objective plus a proximal
term, and W likewise. No step raises the objective, and the whole sequence converges to a critical point. Bao, Ji, Quan,
Shen: Dictionary learning for sparse coding: algorithms and convergence analysis, PAMI 2016, whose scheme this is. The
label term is that of D-KSVD, against which they compare; weights are ours. Codes start from matching pursuit.
Test samples are encoded by the same steps with D alone, and the largest entry of xW wins.
"""

from __future__ import annotations

import numpy as np

from ddlcn.execution.progress import track
from ddlcn_lab.kernels.proximal import sweep_columns
from ddlcn_lab.methods.fddl import square
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.ksvd import omp_codes, ridge_fit
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.representation import draw
from ddlcn_lab.methods.scoring import ScoringClassifier

_LARGEST = 1e3  # M
_FIRST = 30  # entries of the codes that proximal steps start from
_PROXIMAL = 1e-3  # weight of the proximal terms of atoms and of W


class ProximalDictionary(ScoringClassifier):
    """ℓ₀ dictionary learning with a linear classifier.

    Parameters
    ----------
    atoms_per_class : int
        First atoms are training rows, drawn by `random_state`.
    sparsity, fidelity, ridge : float
        λ, β and ρ.
    passes, test_passes : int
        Passes over all blocks; steps of test codes.
    random_state : int

    Attributes
    ----------
    atoms_, weights_ : arrays
        D and W.
    objective_path_ : ndarray
        The objective after each pass.
    """

    def __init__(
        self,
        atoms_per_class: int = 15,
        sparsity: float = 1e-4,
        fidelity: float = 0.1,
        ridge: float = 1e-3,
        passes: int = 30,
        test_passes: int = 10,
        random_state: int = 0,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.fidelity = fidelity
        self.ridge = ridge
        self.passes = passes
        self.test_passes = test_passes
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        Y, H = unit_rows(X), np.eye(len(self.classes_))[targets]
        self.atoms_ = Y[draw(targets, self.atoms_per_class, self.random_state)]
        check_codes(len(Y), len(self.atoms_))
        codes = self._encode(Y)
        self.weights_ = ridge_fit(codes, H, self.ridge / self.fidelity)
        path = []
        for _ in track("Proximal steps", range(self.passes), total=self.passes):
            self._update_codes(Y, H, codes)
            self._update_atoms(Y, codes)
            pull = self.fidelity * codes.T @ H + _PROXIMAL * self.weights_
            curve = self.fidelity * codes.T @ codes + (self.ridge + _PROXIMAL) * np.eye(len(self.atoms_))
            self.weights_ = np.linalg.solve(curve, pull)
            path.append(self.objective(Y, H, codes))
        self.objective_path_ = np.array(path)

    def objective(self, Y: np.ndarray, H: np.ndarray, codes: np.ndarray) -> float:
        """What is minimised, for samples Y with one-hot classes H and codes X."""
        left = square(Y - codes @ self.atoms_) + self.fidelity * square(H - codes @ self.weights_)
        return 0.5 * (left + self.ridge * square(self.weights_)) + self.sparsity * float(np.count_nonzero(codes))

    def _update_codes(self, Y: np.ndarray, H: np.ndarray, codes: np.ndarray) -> None:
        """One proximal step of each column of the codes, in place, the rest fixed."""
        D, W = self.atoms_, self.weights_
        gram = D @ D.T + self.fidelity * W @ W.T
        sweep_columns(gram, Y @ D.T + self.fidelity * H @ W.T, self.sparsity, _LARGEST, codes)

    def _update_atoms(self, Y: np.ndarray, codes: np.ndarray) -> None:
        """Each atom in turn: the unit vector that minimises ½‖Y − XD‖² + ½·_PROXIMAL·‖d − its last value‖²."""
        D, goal, products = self.atoms_, codes.T @ Y, codes.T @ codes
        for j in range(len(D)):
            pull = goal[j] - products[j] @ D + (products[j, j] + _PROXIMAL) * D[j]
            if (length := np.linalg.norm(pull)) > 1e-12:
                D[j] = pull / length

    def _encode(self, Y: np.ndarray) -> np.ndarray:
        """Codes over D alone: matching pursuit, then proximal steps."""
        D = self.atoms_
        codes, gram, target = omp_codes(Y, D, _FIRST), D @ D.T, Y @ D.T
        for _ in range(self.test_passes):
            sweep_columns(gram, target, self.sparsity, _LARGEST, codes)
        return codes

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return self._encode(unit_rows(X)) @ self.weights_
