"""Methods of a classifier that tell what it does not know: novelty, unknown images, prediction sets."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from ddlcn.conformal import Conformal, image_facts
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.linear.svm import LinearSVM
from ddlcn.linear.validation import MOST_HELD_OUT

_NO_CALIBRATION = (
    "this model has no calibration, because its file is older or all its images taught dictionaries: "
    'train it again with images_per_class "auto", the default, and at least two images per class'
)


class Assessment(NamedTuple):
    """What a model says of images; all but the probabilities is None if it has no calibration."""

    probabilities: np.ndarray  # (n_images, n_classes)
    p_values: np.ndarray | None  # (n_images, n_classes): a label is in the prediction set if it is above 1 − coverage
    novelty: np.ndarray | None  # (n_images,): unknown if it is at least 1 − false alarms
    reasons: list[str] | None  # what is most unusual about each image

    def unknown(self, false_alarms: float = 0.05) -> np.ndarray:
        """Return whether each image is unlike the training images, as `is_unknown` does."""
        return _is_unknown(self.novelty, false_alarms)

    def unknown_reasons(self, false_alarms: float = 0.05) -> list[str | None]:
        """Return in words why images are unlike the training images; None for those that are not."""
        pairs = zip(self.unknown(false_alarms), self.reasons or (), strict=True)
        return [f"unlike the training images: {reason}" if unknown else None for unknown, reason in pairs]

    def sets(self, coverage: float = 0.95) -> np.ndarray:
        """Return the labels that each image may have, as `predict_set` does."""
        return _in_set(self.p_values, coverage)


class AssessmentMixin:
    """Methods of a fitted classifier that has a calibration."""

    calibration_: Conformal | None
    classes_: np.ndarray
    encoder_: ImageEncoder
    n_train_: int
    svm_: LinearSVM
    _of_features: Callable[..., list[Any]]  # what a function returns for features of images, some rows at a time

    def novelty(self, X: Any) -> np.ndarray:
        """Return how unlike the training images each image is.

        Parameters
        ----------
        X : images, as for `predict`

        Returns
        -------
        array of shape (n_images,)
            From 0 to 1: 1 − the conformal p-value. Of images like those of the training, a share of at most about α
            has more than 1 − α.

        Raises
        ------
        DDLCNError
            If the model has no calibration.
        """
        return self._calibration().novelty(self._conformity(X))

    def is_unknown(self, X: Any, false_alarms: float = 0.05) -> np.ndarray:
        """Return whether each image is unlike the training images.

        Parameters
        ----------
        X : images, as for `predict`
        false_alarms : float
            Share of images of known classes that may be called unknown.

        Returns
        -------
        array of bool

        Raises
        ------
        DDLCNError
            If the model has no calibration, or one on too few images for this share.
        """
        self.check_calibration(false_alarms=false_alarms)
        return _is_unknown(self.novelty(X), false_alarms)

    def predict_set(self, X: Any, coverage: float = 0.95, class_conditional: bool = False) -> np.ndarray:
        """Return the labels that each image may have.

        Parameters
        ----------
        X : images, as for `predict`
        coverage : float
            Share of images whose true label is to be among them.
        class_conditional : bool
            Reach the coverage for each class, not only on average. Needs more training images.

        Returns
        -------
        array of bool, of shape (n_images, n_classes)
            A row without any True: unlike the training images, or too hard for this coverage.

        Raises
        ------
        DDLCNError
            If the model has no calibration, or one on too few images for this coverage.
        """
        self.check_calibration(coverage=coverage, class_conditional=class_conditional)
        return _in_set(self._calibration().p_values(self._conformity(X), class_conditional), coverage)

    def check_calibration(
        self, *, false_alarms: float | None = None, coverage: float | None = None, class_conditional: bool = False
    ) -> None:
        """Raise if the calibration rests on too few images for a share of false alarms or a coverage.

        Parameters
        ----------
        false_alarms, coverage, class_conditional : as in `is_unknown` and `predict_set`
            What is None is not checked.

        Raises
        ------
        DDLCNError
            Also if the model has no calibration.
        """
        if false_alarms is not None:
            self._check_share("false_alarms", false_alarms, false_alarms)
        if coverage is not None:
            self._check_share("coverage", coverage, 1 - coverage, class_conditional)

    def assess(self, X: Any, class_conditional: bool = False) -> Assessment:
        """Return probabilities, p-values of labels, novelty and reasons by one encoding of the images.

        Parameters
        ----------
        X : images, as for `predict`
        class_conditional : bool
            Give p-values for sets that reach the coverage for each class.

        Returns
        -------
        Assessment
        """
        scores, facts = self._scores_and_facts(X)
        probabilities = self.svm_.probabilities(scores)
        if self.calibration_ is None:
            return Assessment(probabilities, None, None, None)
        conformity = self.calibration_.conformity(self.svm_.log_probabilities(scores), facts)
        reasons = self.calibration_.reasons(facts, self.encoder_.channels)
        p_values = self.calibration_.p_values(conformity, class_conditional)
        return Assessment(probabilities, p_values, self.calibration_.novelty(conformity), reasons)

    def _conformity(self, X: Any) -> np.ndarray:
        calibration = self._calibration()
        scores, facts = self._scores_and_facts(X)
        return calibration.conformity(self.svm_.log_probabilities(scores), facts)

    def _scores_and_facts(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        def of_rows(rows: csr_array) -> tuple[np.ndarray, np.ndarray]:
            scores = self.svm_.scores(rows)
            return scores, image_facts(self.encoder_, rows, scores)

        scores, facts = map(np.concatenate, zip(*self._of_features(of_rows, X), strict=True))
        return scores, facts

    def _calibration(self) -> Conformal:
        check_is_fitted(self, ["encoder_", "svm_"])
        if self.calibration_ is None:
            raise DDLCNError(_NO_CALIBRATION)
        return self.calibration_

    def _check_share(self, name: str, value: float, share: float, class_conditional: bool = False) -> None:
        """Raise if p-values of the calibration can't be as small as a share."""
        if not 0 < value < 1:
            raise DDLCNError(f"{name}={value!r}: must be between 0 and 1")
        have, needed = self._calibration().n_images(class_conditional, len(self.classes_)), ceil(1 / share - 1e-9) - 1
        if have < needed:
            where = "in every class" if class_conditional else "in all"
            what = f"{name}={value:g} needs {needed} held-out training images {where}, and this model has {have}"
            possible = needed * (len(self.classes_) if class_conditional else 1) <= MOST_HELD_OUT
            images = 3 * needed if class_conditional or not have else ceil(needed * self.n_train_ / have)
            more = f"train on about {images} images {where}, or " if possible else ""
            least = ceil(1000 / (have + 1)) / 1000
            limit = f"at least {least:g}" if name == "false_alarms" else f"at most {1 - least:g}"
            raise DDLCNError(f"{what}: {more}{f'set it to {limit}' if have else 'leave it out'}")


def _is_unknown(novelty: np.ndarray | None, false_alarms: float) -> np.ndarray:
    if novelty is None:
        raise DDLCNError(_NO_CALIBRATION)
    return novelty >= 1 - false_alarms - 1e-12


def _in_set(p_values: np.ndarray | None, coverage: float) -> np.ndarray:
    if p_values is None:
        raise DDLCNError(_NO_CALIBRATION)
    return p_values > 1 - coverage + 1e-12
