"""Linear probes: linear models on the mean of a frozen network's last map, the usual way to use a pretrained network.

    x_i = (1/49) Σ over places of the last map of EfficientNet-Lite0 (1,280 channels, 7 × 7 places)

`probe-lr` is logistic regression on x, not standardised; `probe-svm` a linear SVM on x/‖x‖₂. Both choose C by
cross-validation on the training images. The network saw ImageNet, so these are not methods of the paper. Kornblith,
Shlens, Le: Do better ImageNet models transfer better?, CVPR 2019. Needs the extra `backbone`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.utils.validation import check_is_fitted

from ddlcn.descriptors.backbone import Backbone
from ddlcn.execution.progress import track
from ddlcn.images import value_range
from ddlcn.linear.calibration import score_per_class
from ddlcn.linear.validation import folds
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn_lab.methods.memory import check_memory
from ddlcn_lab.methods.scoring import ScoringClassifier

NETWORK = "efficientnet-lite0"
C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
_MAX_ITER = 1000


class BackboneMean(TransformerMixin, BaseEstimator):
    """Images to the mean of a frozen network's map over its places; nothing is learnt.

    Parameters
    ----------
    network : str
        Name of a network, or the path of an ONNX file (see `ddlcn.descriptors.backbone.Backbone`).
    output : str, optional
        Name of the map; None is the last one.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    backbone_ : Backbone
        With all settings.
    """

    def __init__(self, network: str = NETWORK, output: str | None = None, n_jobs: int | None = None) -> None:
        self.network = network
        self.output = output
        self.n_jobs = n_jobs

    def fit(self, images: Any, y: object = None) -> BackboneMean:
        """Open the network."""
        backbone = Backbone(self.network, output=self.output).resolved()
        what, remedy = f"means of {len(images)} maps", "give fewer images"
        check_memory(8 * len(images) * backbone.n_features, what, remedy)
        self.backbone_, self.value_range_ = backbone, value_range(images)
        return self

    def transform(self, images: Any) -> np.ndarray:
        """One row for each image: the mean of each channel."""
        check_is_fitted(self)
        tasks = (delayed(self._mean)(image) for image in images)
        rows = Parallel(self.n_jobs, require="sharedmem", return_as="generator")(tasks)
        return np.stack(list(track("Network", rows, total=len(images))))

    def _mean(self, image: Any) -> np.ndarray:
        return self.backbone_.describe(PreparedImage(image, self.value_range_)).values.mean(axis=0)


class LogisticProbe(ScoringClassifier):
    """Logistic regression with the C that is most accurate in cross-validation; of equal ones, the smallest.

    Parameters
    ----------
    n_folds : int
        At most; no more than the largest class has rows. Folds are drawn over classes in proportion; the only row of
        a class always trains. Where nothing can be held out, C is 1.
    random_state : int
        Seeds the folds.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    model_ : LogisticRegression
        On integer labels.
    C_ : float
        The C that was chosen.
    """

    def __init__(self, n_folds: int = 3, random_state: int = 0) -> None:
        self.n_folds = n_folds
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        model, fold_of = LogisticRegression(max_iter=_MAX_ITER), folds(targets, self.random_state, self.n_folds)
        if fold_of.max() > 0:
            search = GridSearchCV(model, {"C": C_GRID}, cv=PredefinedSplit(fold_of), refit=False).fit(X, targets)
            model.set_params(**search.best_params_)
        self.model_, self.C_ = model.fit(X, targets), model.C

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return score_per_class(self.model_.decision_function(X))
