"""LinearSVM: one-vs-rest linear SVMs with calibrated probabilities.

The problem is LIBLINEAR's default (squared hinge, L2 penalty on weights and bias); it is in `ddlcn.linear.dual`. What
the sizes of classes add to the scores is taken back in part, as held-out rows tell: see `ddlcn.linear.calibration`.
"""

import warnings
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.kernels.svm import squared_norms
from ddlcn.linear import gram, sparse, validation
from ddlcn.linear.calibration import Calibration, score_per_class
from ddlcn.linear.dual import Problem
from ddlcn.linear.validation import HeldOut

C_GRID, C_DEFAULT = (0.1, 1.0, 10.0, 100.0), 10.0
_LARGEST_GRAM = 10_000  # rows; 400 MB
_FEW = 4  # rows for each entry in one of them, up to which the Gram matrix is the faster way


class LinearSVM(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM with calibrated probabilities.

    Parameters
    ----------
    C : float or "auto"
        Cost of errors. "auto" chooses from 0.1, 1, 10 and 100 by the mean log-likelihood of held-out rows; where
        fewer than four can be held out, it is 10.
    class_weight : dict, "balanced" or None
        Weight of each class, as in scikit-learn: C_i = C · sample_weight_i · class_weight[y_i]. Held-out rows have the
        same weights. So None suits rows in the proportions of the training rows, and "balanced" as many of each class.
    solver : "auto", "gram" or "sparse"
        Solve on the Gram matrix of the rows, or on the sparse rows. "auto" uses the Gram matrix of up to 10,000 rows,
        if these are at most four times as many as the entries in one of them.
    tol : float
        Stop at a duality gap of `tol` times the objective.
    random_state : int, RandomState or None
        Seeds the order of coordinate descent and the folds.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    coef_, intercept_ : arrays of shape (n_classes, n_features) and (n_classes,)
        With one row for two classes. Intercepts contain the offsets for classes of different sizes.
    C_ : float
        The C that was given or chosen.
    scale_ : float
        Probabilities are softmax(scale · scores).
    duality_gap_ : array of shape (n_classes,)
        Relative duality gaps of the solutions.
    n_features_in_ : int
    held_out_ : HeldOut
        Numbers and scores of the held-out rows, by SVMs with the C that was chosen.
    selection_ : list of dict
        `{setting, candidate, log_likelihood, chosen}` for each C that was tried; empty if C was given or nothing could
        be held out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM().fit(X, y)
    >>> bool(model.score(X, y) > 0.9), bool((model.duality_gap_ < 1e-6).all())
    (True, True)
    """

    def __init__(
        self,
        C: float | str = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        unseen: ArrayLike | None = None,
    ) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)
            The arrays of a CSR matrix may be views of np.memmap.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Not negative; rows of weight 0 do not train.
        groups : array of int, optional
            For each row, the number of the row that it is an augmented copy of; its own number for originals. Copies
            are not held out, and do not train where their original is held out.
        unseen : array of bool, optional
            Rows that the features were learnt without. Only these are held out, if each class has some.

        Returns
        -------
        LinearSVM

        Raises
        ------
        DDLCNError
            If a parameter is invalid, or fewer than two classes have rows that train.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float32, np.float64))
        check_classification_targets(y)
        self._check_parameters()
        classes, targets = np.unique(y, return_inverse=True)
        weights = self._weights(sample_weight, y)
        groups = _checked_groups(groups, targets)
        unseen = np.ones(len(y), np.bool_) if unseen is None else np.asarray(unseen, np.bool_)
        trained = classes[np.unique(targets[weights > 0])].tolist()
        if not trained:
            raise DDLCNError("all sample weights are zero: give some rows a weight above zero")
        if len(trained) < 2:
            raise DDLCNError(f"only one class ({trained[0]!r}): a classifier needs at least 2 classes")
        seed, X = check_random_state(self.random_state).randint(2**31 - 1), gram.canonical(X)
        make = partial(self._problem, X, targets, weights, seed)
        rows, every = validation.rows_to_use(targets, groups, weights, seed), np.arange(len(targets))
        with one_blas_thread():
            problem = make(rows)
            own = groups if len(rows) == len(every) else every[: len(rows)]
            C, calibration, selection, held_out = self._choose(problem, own, unseen[rows])
            if len(rows) < len(every):
                problem = make(every)
            coef, intercept, gaps = problem.solve(C, self.tol)
            del problem  # frees the Gram matrix
            if self._by_gram(X, len(every)):
                coef = gram.transposed_product(X, coef, self.n_jobs)
        if gaps.max() > self.tol:
            message = f"the SVM stopped at a duality gap of {gaps.max():.1e}, above tol={self.tol:g}: "
            remedy = "scale the rows to unit length, or lower C"
            warnings.warn(message + remedy, ConvergenceWarning, stacklevel=2)
        shifts = calibration.offsets if len(classes) > 2 else np.diff(calibration.offsets)
        self.classes_, self.C_, self.scale_, self.selection_ = classes, C, calibration.scale, selection
        self.held_out_ = HeldOut(rows[held_out.rows], held_out.scores)
        self.coef_, self.intercept_, self.duality_gap_ = coef.T, intercept + shifts, gaps
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows: one column for each class, or for two classes one number, positive for the second.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes) or (n_rows,)
        """
        check_is_fitted(self)
        return self.scores(validate_data(self, X, accept_sparse="csr", dtype=(np.float32, np.float64), reset=False))

    def scores(self, rows: Any) -> np.ndarray:
        """As `decision_function`, for rows that need no validation. A row's score does not depend on other rows."""
        scores = gram.product(csr_array(rows), self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels with the largest score.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self.labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        return self.probabilities(self.decision_function(X))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels for scores.

        Parameters
        ----------
        scores : array
            What `decision_function` returned.

        Returns
        -------
        array of shape (n_rows,)
        """
        return self.classes_[score_per_class(scores).argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities for scores that `decision_function` or `scores` returned; in the same order."""
        return softmax(self.scale_ * score_per_class(scores), axis=1)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Logarithms of `probabilities`."""
        return log_softmax(self.scale_ * score_per_class(scores), axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        if self.C != "auto" and not (isinstance(self.C, Real) and 0 < self.C < np.inf):
            raise DDLCNError(f'C={self.C!r}: must be a positive number or "auto"')
        if self.solver not in ("auto", "gram", "sparse"):
            raise DDLCNError(f'solver={self.solver!r}: choose "auto", "gram" or "sparse"')

    def _weights(self, sample_weight: ArrayLike | None, y: np.ndarray) -> np.ndarray:
        """sample_weight_i · class_weight[y_i]."""
        weights = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, np.float64)
        if weights.shape != y.shape or not (weights >= 0).all() or np.isinf(weights).any():
            raise DDLCNError(f"sample_weight must be {len(y)} finite numbers from 0 on, one for each row")
        train = weights > 0
        try:
            weights[train] *= compute_sample_weight(self.class_weight, y[train])
        except ValueError as error:
            raise DDLCNError(f"class_weight={self.class_weight!r}: {error}") from None
        return weights

    def _by_gram(self, X: csr_array, n_rows: int) -> bool:
        few = n_rows <= min(_LARGEST_GRAM, _FEW * X.nnz / X.shape[0])
        return self.solver == "gram" or (self.solver == "auto" and few)

    def _problem(self, X: csr_array, y: np.ndarray, weights: np.ndarray, seed: int, rows: np.ndarray) -> Problem:
        """Some of the rows, ready to be solved."""
        if self._by_gram(X, len(rows)):
            solver = partial(gram.solve, gram.gram_matrix(X, self.n_jobs, rows))
        else:
            own = X if len(rows) == X.shape[0] else X[rows]
            solver = partial(sparse.solve, own, squared_norms(own.indptr, own.data))
        return Problem(solver, y[rows], y.max() + 1, weights[rows], seed, self.n_jobs)

    def _choose(
        self, problem: Problem, groups: np.ndarray, unseen: np.ndarray
    ) -> tuple[float, Calibration, list[dict[str, Any]], HeldOut]:
        """The C with the best log-likelihood of held-out rows, its calibration, what was tried, and scores."""
        folds, held_out = validation.split(problem.y, groups, problem.weights, problem.seed, unseen)
        auto = self.C == "auto" and len(held_out) >= validation.FEWEST
        grid = C_GRID if auto else (C_DEFAULT if self.C == "auto" else float(self.C),)
        if not len(held_out):
            none = Calibration(1.0, np.zeros(problem.n_classes), np.empty(0))
            return grid[0], none, [], HeldOut(held_out, np.empty((0, problem.n_classes)))
        found = validation.held_out_scores(problem, folds, held_out, grid, max(self.tol, validation.TOLERANCE))
        calibrations = [validation.calibrated(problem, held_out, scores) for scores in found]
        means = [float(each.log_likelihood.mean()) for each in calibrations]
        best = int(np.argmax(means))
        tried = [
            {"setting": "C", "candidate": C, "log_likelihood": mean, "chosen": i == best}
            for i, (C, mean) in enumerate(zip(grid, means, strict=True))
        ]
        scores = found[best] + calibrations[best].offsets
        return grid[best], calibrations[best], tried if auto else [], HeldOut(held_out, scores)


def _checked_groups(groups: ArrayLike | None, y: np.ndarray) -> np.ndarray:
    if groups is None:
        return np.arange(len(y))
    found = np.asarray(groups)
    numbers = found.shape == y.shape and found.dtype.kind in "iu" and 0 <= found.min() <= found.max() < len(y)
    if not numbers or (found[found] != found).any() or (y[found] != y).any():
        raise DDLCNError(f"groups must give, for each of {len(y)} rows, the number of its original, of the same class")
    return found
