"""What `fit` and `extend` get: images, labels and weights, checked and put into an order that does not matter.

With a work folder the rows that an SVM was trained on are kept there, so that images can be added later.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ddlcn import learning
from ddlcn.conformal import Conformal, image_facts
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError, listed
from ddlcn.images import absolute, as_images, canonical_order, take
from ddlcn.linear.svm import LinearSVM
from ddlcn.linear.validation import HeldOut
from ddlcn.selection import Selection

_ROWS_AT_ONCE = 512  # in an entry of the work folder


class TrainingRows(NamedTuple):
    """What an SVM is trained on, in the order of its `fit`."""

    features: csr_array
    labels: np.ndarray
    weights: np.ndarray
    groups: np.ndarray  # an image and its augmented copies
    unseen: np.ndarray  # whether no dictionary is learnt from the image


@dataclass(frozen=True)
class TrainingData:
    """Images sorted by (label, digest of content), so that the same images give the same model in any order."""

    images: Sequence[Any]
    labels: np.ndarray
    sample_weight: np.ndarray
    order: np.ndarray  # the number of each image as it was given

    @property
    def classes(self) -> np.ndarray:
        """The labels, sorted, each once."""
        return np.unique(self.labels)

    @property
    def y(self) -> np.ndarray:
        """The number of each image's class."""
        return np.unique(self.labels, return_inverse=True)[1]

    def held_out(self, svm: LinearSVM) -> HeldOut | None:
        """Return the scores of the images that an SVM held out, by the numbers that the caller knows."""
        rows, scores = self.order[svm.held_out_.rows], svm.held_out_.scores
        order = np.argsort(rows)
        return HeldOut(rows[order], scores[order]) if len(rows) else None

    def rows(self, features: csr_array, groups: np.ndarray, unseen: np.ndarray) -> TrainingRows:
        """Return rows of these images and of augmented copies; `groups` has the image of each."""
        return TrainingRows(features, self.labels[groups], self.sample_weight[groups], groups, unseen[groups])


def check(
    model: Any, X: Any, y: Any, sample_weight: Any = None, min_classes: int = 2, reset: bool = True
) -> TrainingData:
    """Return images, labels and weights, or raise an error that says what to give."""
    if model.image_shape is not None:
        matrix, labels = validate_data(model, X, y, dtype="numeric", reset=reset)
        images: Any = reshaped(matrix, model.image_shape)
    else:
        images, labels = as_images(X), column_or_1d(y, warn=True)
    if len(images) != len(labels):
        raise DDLCNError(f"{len(images)} images but {len(labels)} labels: give one label per image")
    if labels.dtype == object:  # text of a data frame
        if any(label is None or label != label for label in labels):
            raise DDLCNError("a label is missing (None or NaN): give every image a label, or leave it out")
        labels = np.array(labels.tolist())
    check_classification_targets(labels)
    labels = labels if reset else _like(labels, model.classes_)
    classes = np.unique(labels)
    if len(classes) < min_classes:
        raise DDLCNError(f"only one class ({classes[0]!s}): a classifier needs at least 2 classes")
    if reset and isinstance(model.class_weight, dict):
        _check_class_weight(model.class_weight, classes.tolist())
    like = np.empty((len(labels), 1))
    weights = _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
    images = absolute(images)
    order = canonical_order(images, np.unique(labels, return_inverse=True)[1], weights)
    return TrainingData(take(images, order), labels[order], weights[order], order)


def _check_class_weight(class_weight: dict[Any, float], classes: list[Any]) -> None:
    """Raise if a weight is no number from 0 on, or of no class while a class has none (scikit-learn's rule)."""
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0 <= weight < np.inf):
            raise DDLCNError(f"class_weight of {label!r} is {weight!r}: give a number from 0 on")
    unknown = [repr(label) for label in class_weight if label not in classes]
    if unknown and not set(classes) <= set(class_weight):
        what = f"class_weight: {listed(unknown, 5)} {'are no classes' if unknown[1:] else 'is not a class'}"
        raise DDLCNError(f"{what} of these labels: choose from {listed(map(repr, classes), 5)}")


def record(labels: np.ndarray, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a model file tells about a training: its date, the version of ddlcn, the images of each class.

    Parameters
    ----------
    labels : array
        Of the training images.
    before : dict, optional
        The record of the model that is extended by these images.

    Examples
    --------
    >>> record(np.array(["a", "b", "a"]))["class_counts"]
    {'a': 2, 'b': 1}
    >>> record(np.array(["c"]), before={"class_counts": {"a": 2}})["class_counts"]
    {'a': 2, 'c': 1}
    """
    found = {"created": datetime.now(UTC).date().isoformat(), "version": version("ddlcn")}
    if before is not None and "class_counts" not in before:  # of an old model file
        return found
    counts = Counter((before or {}).get("class_counts", {})) + Counter(labels.tolist())
    return found | {"class_counts": dict(sorted(counts.items()))}


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed: an integer as it is, else one that is drawn."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return check_random_state(random_state).randint(2**31)


def check_addition(model: Any, X: Any, y: Any) -> TrainingData:
    """Return images and labels to extend a fitted model with."""
    if model.work_folder is None:
        raise DDLCNError("extend needs the work folder of the training: set work_folder= to it")
    return check(model, X, y, min_classes=1, reset=False)


def _like(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Convert labels to the type of the classes: the text "7" becomes class 7. New classes must have that type."""
    given, known = labels.dtype, classes.dtype
    integers = {given.kind, known.kind} == {"i", "u"} and np.promote_types(given, known).kind == "i"
    if given.kind == known.kind or integers:
        return labels
    by_text = {str(label): label for label in classes}
    if not set(map(str, labels)) <= set(by_text):
        raise DDLCNError(f"labels of {given}, but the model's are of {known}: give labels of that type")
    return np.array([by_text[str(label)] for label in labels], known)


def reshaped(matrix: np.ndarray, image_shape: tuple[int, ...]) -> np.ndarray:
    """Return the rows of a matrix as images."""
    try:
        return matrix.reshape(len(matrix), *image_shape)
    except (ValueError, TypeError):
        what = f"image_shape={image_shape} does not fit rows of {matrix.shape[1]} pixels"
        raise DDLCNError(f"{what}: give (height, width) whose product is that") from None


def train(svm: LinearSVM, rows: TrainingRows, encoder: ImageEncoder, run: Any) -> tuple[LinearSVM, Conformal | None]:
    """Train an SVM and calibrate it; and keep its rows in the work folder, if there is one."""
    with run.time("svm"):
        svm.fit(*rows)
    name, features = _name(svm), rows.features
    starts = range(0, features.shape[0], _ROWS_AT_ONCE) if run.keeps else ()
    for part, at in enumerate(starts):
        run.save(f"{name}-{part}", features[at : at + _ROWS_AT_ONCE])
    targets = np.searchsorted(svm.classes_, rows.labels)
    facts = {"targets": targets, "weights": rows.weights, "groups": rows.groups, "unseen": rows.unseen}
    run.save(name, facts | {"parts": np.array([len(starts)])})
    return svm, _calibration(encoder, svm, rows)


def _calibration(encoder: ImageEncoder, svm: LinearSVM, rows: TrainingRows) -> Conformal | None:
    """What is usual for the images that an SVM held out; None if there are none, or they taught dictionaries."""
    numbers, scores = svm.held_out_
    if not (len(numbers) and rows.unseen[numbers].all()):
        return None
    y = np.searchsorted(svm.classes_, rows.labels[numbers])
    facts = image_facts(encoder, rows.features[numbers], scores)
    return Conformal.from_held_out(svm.log_probabilities(scores), y, facts)


def recall(run: Any, svm: LinearSVM) -> TrainingRows:
    """Return what an SVM was trained on."""
    name = _name(svm)
    facts = run.read(name)
    _check_facts(facts, len(svm.classes_), name)
    parts = (run.read(f"{name}-{part}") for part in range(facts["parts"][0]))
    features = run.assemble(_checked_parts(parts, name), svm.n_features_in_)
    labels, nothing = svm.classes_[facts["targets"]], np.zeros(len(facts["targets"]), np.bool_)
    _expect(features.shape[0] == len(labels), name)
    unseen = facts.get("unseen", nothing)  # entries of before do not have it
    return TrainingRows(features, labels, facts["weights"], facts["groups"], unseen)


def _check_facts(facts: Any, n_classes: int, name: str) -> None:
    """Raise unless an entry has what `train` writes: numbers of rows, one of each for each row."""
    kinds = {"targets": "i", "weights": "f", "groups": "i", "unseen": "b", "parts": "i"}
    _expect(isinstance(facts, dict) and set(kinds) - set(facts) <= {"unseen"} and set(facts) <= set(kinds), name)
    _expect(all(array.ndim == 1 and array.dtype.kind == kinds[key] for key, array in facts.items()), name)
    targets, lengths = facts["targets"], {len(array) for key, array in facts.items() if key != "parts"}
    _expect(len(facts["parts"]) == 1 and lengths == {len(targets)} != {0}, name)
    _expect(targets.min() >= 0 and targets.max() < n_classes, name)


def _checked_parts(parts: Iterable[Any], name: str) -> Iterator[csr_array]:
    for part in parts:
        _expect(isinstance(part, csr_array), name)
        yield part


def _expect(condition: Any, name: str) -> None:
    if not condition:
        raise DDLCNError(f"entry {name!r} of the work folder is invalid: train again with this work folder")


def joined(model: Any, data: TrainingData, run: Any) -> TrainingRows:
    """Return the rows that a model was trained on, then those of more images."""
    old, encoder, choose = recall(run, model.svm_), model.encoder_, Selection(data.y, 0)
    features = learning.encoded(encoder, data.images, run)
    total = model.n_train_ + len(data.labels)
    _, features, groups = learning.augmented(model.augmentation_, encoder, data.images, features, choose, run, total)
    new, n_old = data.rows(features, groups, np.ones(len(data.labels), np.bool_)), len(old.groups)
    return TrainingRows(
        run.assemble([old.features, new.features], encoder.n_features),
        np.concatenate([old.labels, new.labels]),
        np.concatenate([old.weights, new.weights]),
        np.concatenate([old.groups, n_old + new.groups]),
        np.concatenate([old.unseen, new.unseen]),
    )


def _name(svm: LinearSVM) -> str:
    """The SVM itself is the key to what it was trained on."""
    content = np.ascontiguousarray(svm.coef_).tobytes() + svm.intercept_.tobytes()
    return f"training-{hashlib.sha256(content).hexdigest()[:32]}"
