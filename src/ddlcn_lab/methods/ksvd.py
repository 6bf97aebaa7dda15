"""K-SVD with labels: K-SVD, D-KSVD, LC-KSVD1 and LC-KSVD2 are one problem at four pairs of weights,

    min over D, A, W, X of  ‖Y − XD‖² + α‖Q − XA‖² + β‖H − XW‖²   subject to  ‖x_i‖₀ ≤ T,

where H has the classes of the samples (one-hot) and Q_ij = 1 if atom j is of the class of sample i. It is K-SVD
on the rows [y, √α q, √β h]. α = β = 0: K-SVD (Aharon, Elad, Bruckstein, TSP 2006); α = 0: D-KSVD (Zhang, Li,
CVPR 2010); β = 0: LC-KSVD1, else LC-KSVD2 (Jiang, Lin, Davis, PAMI 2013). Where β = 0, W is the ridge fit
of H on the codes. K-SVD and OMP themselves are dictlearn's. Weights are for rows of unit length; the authors
give √α = 4 and √β = 2 for rows of unstated length.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn_lab.methods.inputs import unit_rows
from ddlcn_lab.methods.memory import check_codes
from ddlcn_lab.methods.representation import draw
from ddlcn_lab.methods.scoring import ScoringClassifier


class LabelConsistentKSVD(ScoringClassifier):
    """Dictionary and linear classifier learnt together.

    Parameters
    ----------
    atoms_per_class : int or None
        q; None starts from every training row.
    sparsity : int
        T, the entries of a code.
    consistency, fidelity : float
        α and β.
    passes, first_passes : int
        Passes of K-SVD over all classes, and before that over each class for its first atoms.
    ridge : float
        Weight of ‖W‖² in ridge fits.
    random_state : int

    Attributes
    ----------
    atoms_, weights_ : arrays
        D and W.
    """

    def __init__(
        self,
        atoms_per_class: int | None = 15,
        sparsity: int = 30,
        consistency: float = 0.0,
        fidelity: float = 0.0,
        passes: int = 10,
        first_passes: int = 5,
        ridge: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.atoms_per_class = atoms_per_class
        self.sparsity = sparsity
        self.consistency = consistency
        self.fidelity = fidelity
        self.passes = passes
        self.first_passes = first_passes
        self.ridge = ridge
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        X, n_classes = unit_rows(X), len(self.classes_)
        first = draw(targets, self.atoms_per_class, self.random_state)
        D, atom_classes = X[first], targets[first]
        check_codes(len(X), len(D))
        for c in range(n_classes):
            D[atom_classes == c] = self._ksvd(X[targets == c], D[atom_classes == c], self.first_passes)
        H = np.eye(n_classes)[targets]
        Q = H[:, atom_classes]
        gamma = self._encode(X, D)
        extra = [
            (np.sqrt(weight) * target, np.sqrt(weight) * ridge_fit(gamma, target, self.ridge))
            for weight, target in ((self.consistency, Q), (self.fidelity, H))
            if weight > 0
        ]
        wide = unit_rows(np.hstack([D, *(fit for _, fit in extra)]))
        rows = np.hstack([X, *(target for target, _ in extra)])
        for _ in track("K-SVD", range(self.passes), total=self.passes):
            wide = self._ksvd(rows, wide, 1)
        lengths = np.maximum(np.linalg.norm(wide[:, : X.shape[1]], axis=1, keepdims=True), 1e-12)
        self.atoms_ = wide[:, : X.shape[1]] / lengths
        if self.fidelity > 0:
            self.weights_ = wide[:, -n_classes:] / lengths / np.sqrt(self.fidelity)
        else:
            self.weights_ = ridge_fit(self._encode(X, self.atoms_), H, self.ridge)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return self._encode(unit_rows(X), self.atoms_) @ self.weights_

    def _ksvd(self, Y: np.ndarray, D: np.ndarray, passes: int) -> np.ndarray:
        if passes == 0:
            return D
        learner = import_dictlearn().DictionaryLearning(
            len(D),
            n_nonzero_coefs=min(self.sparsity, len(D)),
            max_iter=passes,
            dict_init=D,
            random_state=self.random_state,
        )
        return learner.fit(Y).components_

    def _encode(self, Y: np.ndarray, D: np.ndarray) -> np.ndarray:
        return omp_codes(Y, D, self.sparsity)


def incoherent_ksvd(Y: np.ndarray, n_atoms: int, sparsity: int, random_state: int) -> np.ndarray:
    """Learn atoms on the rows of Y by 5 passes of K-SVD with a penalty on (d_i·d_jᵀ)².

    Parameters
    ----------
    Y : array
        Samples.
    n_atoms, sparsity, random_state : int

    Returns
    -------
    array of shape (n_atoms, n_features)
    """
    learner = import_dictlearn().DictionaryLearning(
        min(n_atoms, len(Y)),
        n_nonzero_coefs=min(sparsity, n_atoms, Y.shape[1]),
        coherence_gamma=0.1,
        max_iter=5,
        random_state=random_state,
    )
    return learner.fit(Y).components_


def omp_codes(Y: np.ndarray, D: np.ndarray, sparsity: int) -> np.ndarray:
    """Encode the rows of Y over the rows of D by orthogonal matching pursuit.

    Parameters
    ----------
    Y, D : arrays
        Samples and atoms.
    sparsity : int
        Entries of a code, at most.

    Returns
    -------
    array of shape (n_samples, n_atoms)
    """
    return import_dictlearn().sparse_encode(Y, D, algorithm="omp", n_nonzero_coefs=min(sparsity, *D.shape))


def ridge_fit(X: np.ndarray, Y: np.ndarray, penalty: float) -> np.ndarray:
    """argmin_W ‖Y − XW‖² + penalty·‖W‖².

    Examples
    --------
    >>> ridge_fit(np.eye(2), np.array([[2.0], [4.0]]), 1.0)
    array([[1.],
           [2.]])
    """
    return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ Y)


def import_dictlearn() -> ModuleType:
    """Return the package, or raise an error that says how to install it."""
    try:
        import dictlearn
    except ImportError:
        raise DDLCNError("this method needs dictlearn: pip install 'ddlcn[lab]'") from None
    return dictlearn
