"""DPL: for each class a dictionary that synthesises its samples, and one that analyses them,

    min over P, D, A of  Σ_k ‖Y_k − A_k D_k‖² + τ‖Y_k P_k − A_k‖² + θ‖Ȳ_k P_k‖² + γ‖P_k‖²

subject to ‖d‖₂ ≤ 1 for the rows d of D_k, where Ȳ_k are the samples of all other classes. A test sample
has the code y P_k, and the class that synthesises it best, by y P_k D_k, wins. Learnt by dictlearn, with its
τ, θ and γ. Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification, NIPS 2014.
"""

from __future__ import annotations

import numpy as np

from ddlcn.execution.progress import track
from ddlcn_lab.methods.ksvd import import_dictlearn
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.scoring import ScoringClassifier


class DictionaryPairs(ScoringClassifier):
    """Dictionary pair learning.

    Parameters
    ----------
    atoms_per_class : int
        q, the rows of each D_k.
    passes : int
        Alternations of codes, P and D.
    random_state : int

    Attributes
    ----------
    pairs_ : list of two arrays per class
        P_k (n_features, q) and D_k (q, n_features).
    """

    def __init__(self, atoms_per_class: int = 15, passes: int = 10, random_state: int = 0) -> None:
        self.atoms_per_class = atoms_per_class
        self.passes = passes
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        k, d = len(self.classes_), X.shape[1]
        check_memory(24 * k * d * d, f"products of {d} features for {k} classes", "give fewer of either")
        import_dictlearn()
        from dictlearn.classification import DPLClassifier

        model = DPLClassifier(self.atoms_per_class, max_iter=self.passes, random_state=self.random_state)
        for _ in track("DPL", [None], total=1):  # dictlearn reports no progress
            model.fit(X, targets)
        encoders = np.split(model.encoders_, k)
        self.pairs_ = [(P.T, D.T) for P, D in zip(encoders, model.dictionaries_, strict=True)]

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return -np.stack([((X - X @ P @ D) ** 2).sum(axis=1) for P, D in self.pairs_], axis=1)
