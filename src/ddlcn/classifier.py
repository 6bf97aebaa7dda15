"""DDLCNClassifier: images in, labels out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ddlcn import cluster, copies, deep, doubt, hard, model_file, standing, units
from ddlcn.errors import DDLCNError
from ddlcn.evidence import Evidence, explain
from ddlcn.held_out import Judge
from ddlcn.images import read_grey, value_range
from ddlcn.kernels.sift import N_FEATURES
from ddlcn.layers.dictionary import L1BallDictionary, class_seeds
from ddlcn.layers.network import Network
from ddlcn.layers.rows import ASKED_ROOM, ROOM, MemoryRows, Rows
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.stored_rows import StoredRows
from ddlcn.layers.svm import LinearSVM, candidates_of
from ddlcn.layers.threads import one_blas_thread
from ddlcn.memory import give_back
from ddlcn.presets import Settings, settings_of
from ddlcn.progress import Stopwatch, track
from ddlcn.store import Store


class DDLCNClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Deep Micro-Dictionary Learning and Coding Network.

    Images are file paths, 2-D grey arrays or 3-D colour arrays, of any sizes; or the rows of a 2-D matrix,
    if `image_shape` says what a row is.

    Parameters
    ----------
    images_per_class : int or None
        p, the training images of each class that its dictionary is learnt from; None is all ("A").
        A class with fewer gives all that it has.
    atoms_per_class : int
        q, the atoms of the first dictionary for each class.
    deeper_atoms : tuple of int
        s2, …, sn, the atoms of each deeper dictionary; () is one layer.
    neighbors : tuple of int, optional
        The nearest atoms that take part in a code, for each layer; the last serves all deeper layers.
    l1_radius : float
        λ, the L1 ball that codes are held to while dictionaries are learnt.
    preset : "best" or "paper"
        Decides `neighbors` and each parameter below that is None.
    beta : float, optional
        β, the price of using far atoms (exact coder).
    coder : "exact" or "llc", optional
        Eq. 5 solved exactly, or LLC's closed form.
    descriptor : DenseSIFT, optional
        How images are described.
    pyramid : tuple of int, optional
        Cells a side at each level of the spatial pyramid.
    min_channel : bool, optional
        Pool plain minima beside the maxima.
    power : float, optional
        Exponent on the size of codes before pooling; 0.5 lets small codes count for more.
    deep : float or "cv", optional
        Length of the deep channel beside pooled codes of length 1: descriptors coded over all deeper atoms at
        once, and averaged over a fine grid. "cv" tries some on held-out training images; 0 leaves it out.
    upright : bool or "cv", optional
        Stand figures on plain ground upright, in the middle and about as large as each other. "cv" does it if
        the images have plain ground, and held-out training images say that it helps.
    copies : "none", "moved", "bent", "mirrored" or "cv", optional
        Copies of training images that train beside them: shifted, turned and scaled a little, bent, or
        mirrored; "cv" tries moved and mirrored ones on held-out training images, and bends figures that are
        hard ones of very many. Dictionaries are learnt without copies.
    C : float or "cv", optional
        Weight of errors in the SVM, or "cv" to choose it by cross-validation on the training images.
    expand : bool
        Build the literal augmented feature of Algorithm 1 rather than its exact short form.
    image_shape : tuple, optional
        (height, width) or (height, width, channels) of the rows of a 2-D matrix; −1 stands for what is left.
    random_state : int
        Same seed, same model, whatever `n_jobs`.
    n_jobs : int or None
        Threads; −1 is all cores.
    store : path, optional
        A folder, or any fsspec path, where `fit` keeps each finished unit of its work: `fit` again, and it
        goes on from there. A Dask cluster needs it. The answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    network_ : Network
        The learnt dictionaries and their coders.
    svm_ : LinearSVM
    copies_ : str
        The kind of copies that trained beside the images.
    n_train_ : int
        How many images it was trained on, copies not counted.
    picked_from_ : int or None
        How many images there were, if those that trained are the hard ones of very many.
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
        images_per_class: int | None = 15,
        atoms_per_class: int = 15,
        deeper_atoms: tuple[int, ...] = (64,),
        neighbors: tuple[int, ...] | None = None,
        l1_radius: float = 0.35,
        preset: str = "best",
        beta: float | None = None,
        coder: str | None = None,
        descriptor: DenseSIFT | None = None,
        pyramid: tuple[int, ...] | None = None,
        min_channel: bool | None = None,
        power: float | None = None,
        deep: float | str | None = None,
        upright: bool | str | None = None,
        copies: str | None = None,
        C: float | str | None = None,
        expand: bool = False,
        image_shape: tuple[int, ...] | None = None,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.images_per_class = images_per_class
        self.atoms_per_class = atoms_per_class
        self.deeper_atoms = deeper_atoms
        self.neighbors = neighbors
        self.l1_radius = l1_radius
        self.preset = preset
        self.beta = beta
        self.coder = coder
        self.descriptor = descriptor
        self.pyramid = pyramid
        self.min_channel = min_channel
        self.power = power
        self.deep = deep
        self.upright = upright
        self.copies = copies
        self.C = C
        self.expand = expand
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store = store

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.transformer_tags.preserves_dtype = []
        # points are no pictures: brightness is all they have, and the presets normalise it away
        tags.classifier_tags.poor_score = self.descriptor is None
        tags.input_tags.three_d_array = tags.input_tags.string = self.image_shape is None
        return tags

    # ------------------------------------------------------------------------------------------- training

    def fit(self, images: Any, y: ArrayLike) -> DDLCNClassifier:
        """Learn from images and their labels `y`.

        That is `stand`, `learn`, `weigh`, `pick`, `transform`, `augment` and `train`, in that order.
        """
        self.stand(images, y).learn(images, y, descriptor=self.descriptor_)
        picked = self.weigh(images, y).pick(images, y)
        images, labels = self._training_images(images, y)
        images, labels = units.take(images, picked), labels[picked]
        with self._stage("coding"):
            rows = self._rows(images, self._store(), room=ROOM)
        return self.train(*self._augment(images, labels, rows))

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Time a stage of training; what it leaves free goes back to the system."""
        with self.timings_.time(name):
            yield
        give_back()

    def stand(self, images: Any, y: ArrayLike) -> DDLCNClassifier:
        """Whether figures stand upright, by held-out training images; `learn` may take `descriptor_` then."""
        images, labels = self._training_images(images, y)
        codes, given, self.timings_ = _classes(labels)[1], clone(self._settings.descriptor), Stopwatch()
        if self._settings.upright and given.upright is None:
            self.value_range_ = value_range(images)
            with one_blas_thread(), self._stage("upright"):
                judge = self._judge(codes)
                given = self._stand(given, judge, [images[image] for image in judge.sample])
        self.descriptor_ = given
        return self

    def _stand(self, given: DenseSIFT, judge: Judge, asked: list[Any]) -> DenseSIFT:
        """The descriptor with figures upright, if there are any, and the judge agrees or is not asked."""
        pictures = (read_grey(image, value_range=self.value_range_) for image in asked)
        upright = standing.upright(given, pictures, len(asked))
        if upright is None or self._settings.upright is True:
            return upright or given
        # no atom has been learnt yet, so descriptors are seen as they are
        axes = self._network([np.eye(N_FEATURES, dtype=np.float32)] * 2)
        return standing.choose(
            judge, given, upright, lambda descriptor: self._glance(asked, descriptor, axes)
        )

    def learn(
        self,
        images: Any,
        y: ArrayLike,
        first_layer: np.ndarray | None = None,
        descriptor: DenseSIFT | None = None,
    ) -> DDLCNClassifier:
        """Learn the dictionaries alone, which is all that `transform` needs if `deep` is not "cv".

        `first_layer` gives the atoms of the first dictionary if they have been learnt before, and
        `descriptor` the one that `stand` found; else figures are left as they are.
        """
        images, labels = self._training_images(images, y)
        self.classes_, codes = _classes(labels)
        if descriptor is None or not hasattr(self, "timings_"):
            self.timings_ = Stopwatch()
        self.descriptor_ = clone(self._settings.descriptor) if descriptor is None else descriptor
        self.value_range_ = value_range(images)
        self.copies_ = "none"
        self.picked_from_: int | None = None
        with one_blas_thread(), self._stage("dictionaries"):
            dictionaries = [self._learn_first_layer(images, codes) if first_layer is None else first_layer]
            for depth, n_atoms in enumerate(self.deeper_atoms, start=1):
                seed = class_seeds(self.random_state, depth)[-1]
                deeper = L1BallDictionary(n_atoms, self.l1_radius, random_state=seed)
                dictionaries.append(deeper.fit(dictionaries[-1]).components_)
        self.network_ = self._network(dictionaries)
        return self

    def weigh(self, images: Any, y: ArrayLike) -> DDLCNClassifier:
        """The length of the deep channel, by held-out training images."""
        check_is_fitted(self, "network_")
        images, labels = self._training_images(images, y)
        codes = np.unique(labels, return_inverse=True)[1]
        if self._settings.deep == "cv" and self.deeper_atoms:
            with one_blas_thread(), self._stage("deep"):
                judge, found = self._judge(codes), 0.0
                self.network_.deep = 1.0
                try:
                    asked = [images[image] for image in judge.sample]
                    rows = self._rows(asked, self._store(), room=ASKED_ROOM)
                    found = deep.choose(judge, rows, self.network_.n_pooled)
                finally:
                    self.network_.deep = found
        return self

    def _glance(self, images: Sequence[Any], descriptor: DenseSIFT, network: Network) -> Rows:
        """Rows of the deep channel alone, of few patches."""
        density = self._settings.descriptor.density
        brief = descriptor.but(patch_size=min(descriptor.patch_sizes), density=density)
        return self._rows(images, self._store(), room=ROOM, glance=(brief, network))

    def pick(self, images: Any, y: ArrayLike) -> np.ndarray:
        """The numbers of the images to train on: all; of very many, those that are hard at a glance.

        `transform` looks closely then: at patches that are closer together.
        """
        check_is_fitted(self, "network_")
        images, labels = self._training_images(images, y)
        self.picked_from_ = None
        codes = np.unique(labels, return_inverse=True)[1]
        if len(codes) <= hard.MANY or not (self._settings.hard and self.deeper_atoms):
            return np.arange(len(labels))
        with one_blas_thread(), self._stage("first look"):
            given = self.descriptor_
            found = hard.pick(
                self._glance(images, given, self.network_), codes, self.random_state, self.n_jobs
            )
        density = hard.CLOSER * self._settings.descriptor.density
        self.descriptor_, self.picked_from_ = given.but(density=density), len(labels)
        return found

    def augment(
        self, images: Any, rows: csr_array | StoredRows, y: ArrayLike
    ) -> tuple[csr_array | StoredRows, np.ndarray, np.ndarray]:
        """Put rows of changed copies of training images after their own, if `copies` says so.

        Returns rows, labels, and of each row the number of the row whose copy it is, or its own: what `train`
        takes.
        """
        given = rows if isinstance(rows, StoredRows) else MemoryRows(rows)
        found, labels, origins = self._augment(*self._training_images(images, y), given)
        return found if isinstance(found, StoredRows) else found.load(), labels, origins

    def _augment(self, images: Any, labels: np.ndarray, rows: Rows) -> tuple[Rows, np.ndarray, np.ndarray]:
        code = self._coding_of_copies(images, rows)
        with one_blas_thread(), self._stage("copies"):
            choice = copies.no_choice(self._settings.copies)
            if choice.kind == "cv" and self.picked_from_ is not None:
                choice = copies.no_choice("none" if self.descriptor_.upright is None else "bent")
            elif choice.kind == "cv":
                codes = np.unique(labels, return_inverse=True)[1]
                choice = copies.choose(self._judge(codes), rows, codes, code)
            self.copies_ = choice.kind
            return copies.join(choice, rows, labels, code, before=labels[:0])

    def train(
        self, rows: csr_array | Rows, y: ArrayLike, origins: np.ndarray | None = None
    ) -> DDLCNClassifier:
        """Train the SVM alone, on rows that `transform` or `augment` gave."""
        self.classes_, codes = np.unique(column_or_1d(y), return_inverse=True)
        origins = np.arange(len(codes)) if origins is None else origins
        self.n_train_ = int((origins == np.arange(len(codes))).sum())
        self.copies_ = self.copies_ if self.n_train_ < len(codes) else "none"
        with self._stage("svm"):
            self.svm_ = LinearSVM(C=self._settings.C, random_state=self.random_state, n_jobs=self.n_jobs)
            for _ in track("Training", [None], total=1):
                self.svm_.fit(rows, codes, origins)
            self.svm_.classes_ = self.classes_
        if isinstance(rows, StoredRows):
            units.remember(rows, codes, origins, self.svm_)
        return self

    def grow(self, images: Any, y: ArrayLike) -> DDLCNClassifier:
        """Add images, of known classes or of new ones, to a model that was trained with its `store`.

        Dictionaries stay, and so does all that was chosen by held-out images, so only the new
        images are coded; the SVM is trained on all rows, old and new. Without copies that is, bit for bit,
        `stand`, `learn` and `weigh` on the old images and `train` on the rows of all. It is not `fit` on all
        images, whose dictionaries would know the new ones: for that, `fit` them all with the same store; it
        learns only the dictionaries that changed, but must code all images anew.
        """
        check_is_fitted(self, "svm_")
        if self.store is None:
            raise DDLCNError(
                "grow needs the rows that the model was trained on: set store= to where they are"
            )
        images, labels = self._training_images(images, y)
        if labels.dtype.kind != self.classes_.dtype.kind:
            raise DDLCNError(
                f"labels of {labels.dtype}, but the model's are of {self.classes_.dtype}: give labels alike"
            )
        store = Store(self.store)
        names, codes, origins = units.trained_on(store, self.svm_)
        self.timings_ = Stopwatch()
        with self._stage("coding"):
            new = self._rows(images, store)
        with one_blas_thread(), self._stage("copies"):
            before = self.classes_[codes[origins == np.arange(len(origins))]]
            choice, code = copies.no_choice(self.copies_), self._coding_of_copies(images, new)
            new, labels, theirs = copies.join(choice, new, labels, code, before)
        if self.picked_from_ is not None:
            self.picked_from_ += len(images)
        rows = StoredRows(store, names + new.names, (len(codes) + len(labels), new.shape[1]))
        labels = np.concatenate([self.classes_[codes], labels])
        return self.train(rows, labels, np.concatenate([origins, len(origins) + theirs]))

    def _coding_of_copies(self, images: Any, rows: Rows) -> copies.Coding:
        """What codes changed images, to where the rows of the images are."""

        def code(chosen: np.ndarray, changes: tuple[copies.Change, ...]) -> Iterable[Any]:
            given = [images[image] for image in chosen]
            if isinstance(rows, StoredRows):
                return [self._rows(given, rows.store, changes)]
            return units.rows_in_turn(given, *self._work(), changes=changes)

        return code

    def _judge(self, codes: np.ndarray) -> Judge:
        candidates = candidates_of(self._settings.C)
        return Judge(codes, candidates[len(candidates) // 2], self.random_state, self.n_jobs)

    def _network(self, dictionaries: list[np.ndarray]) -> Network:
        return self._settings.network(dictionaries, self.expand)

    @property
    def _settings(self) -> Settings:
        return settings_of(self)

    def _learn_first_layer(self, images: Sequence[Any], codes: np.ndarray) -> np.ndarray:
        """V: a dictionary a class, side by side (Eq. 2)."""
        if self.atoms_per_class < 1 or (self.images_per_class is not None and self.images_per_class < 1):
            raise DDLCNError(
                f"atoms_per_class={self.atoms_per_class}, images_per_class={self.images_per_class}: "
                "must be at least 1 (images_per_class=None is all)"
            )
        seeds, store = class_seeds(self.random_state, len(self.classes_)), self._store()
        images = images if store is None else units.findable(images)
        settings = (self.descriptor_, self.value_range_, self.atoms_per_class, self.l1_radius)
        most = self._settings.most_descriptors
        calls = [
            (units.take(images, self._drawn(codes, c, seed)), *settings, seed, most)
            for c, seed in enumerate(seeds)
        ]
        found = units.results(store, "dictionary", units.learn_class, calls, self.n_jobs)
        return np.concatenate(list(track("Dictionaries", found, total=len(calls))))

    def _drawn(self, codes: np.ndarray, c: int, seed: int) -> np.ndarray:
        """The images of class c that its dictionary is learnt from."""
        rows = np.flatnonzero(codes == c)
        return np.sort(np.random.RandomState(seed).permutation(rows)[: self.images_per_class])

    # ------------------------------------------------------------------------------------------ answering

    def transform(self, images: Any) -> csr_array:
        """The image features that the SVM sees: one sparse row of unit length an image."""
        return self._rows(self._images(images)).load()

    def decision_function(self, images: Any) -> np.ndarray:
        """Scores, a column for each class (one-dimensional for two classes)."""
        images = self._images(images)
        rows = units.rows_in_turn(images, *self._work())  # all at once would fill the memory
        return self._look_again(images, np.concatenate([self.svm_.scores(part) for part in rows]))

    def look_again(self, images: Any, scores: np.ndarray) -> np.ndarray:
        """Scores of images, by those of a first look, after a second look at images in doubt (`doubt`).

        `decision_function` does both. Only a model that bent copies have trained looks again.
        """
        return self._look_again(self._images(images), scores)

    def _look_again(self, images: Any, scores: np.ndarray) -> np.ndarray:
        (_, own), *again = doubt.looks(self.copies_)
        doubtful = doubt.in_doubt(scores)
        if not (again and len(doubtful)):
            return scores
        asked, found = units.take(images, doubtful), scores.copy()
        found[doubtful] *= own
        for change, weight in again:
            changes = (change,) * len(doubtful)
            rows = units.rows_in_turn(asked, *self._work(), changes, stage="Second look")
            found[doubtful] += weight * np.concatenate([self.svm_.scores(part) for part in rows])
        return found

    def predict(self, images: Any) -> np.ndarray:
        """The labels of images."""
        scores = self.decision_function(images)
        return self.svm_.labels(scores)

    def predict_proba(self, images: Any) -> np.ndarray:
        """Probabilities of the classes, calibrated on the training images."""
        scores = self.decision_function(images)
        return self.svm_.probabilities(scores)

    def explain(self, image: Any, label: Any = None) -> Evidence:
        """Where in an image the score of a class (by default, of the predicted one) comes from."""
        return explain(
            self, self._images([image] if self.image_shape is None else [np.ravel(image)])[0], label
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one safe file."""
        check_is_fitted(self, "svm_")
        model_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DDLCNClassifier:
        """Read a model written by `save`."""
        return model_file.load(cls, path)

    def _rows(
        self,
        images: Sequence[Any],
        store: Store | None = None,
        changes: tuple[copies.Change, ...] = (),
        room: int | None = None,
        glance: tuple[DenseSIFT, Network] | None = None,
    ) -> Any:
        descriptor, network = glance or (self.descriptor_, self.network_)
        work = (descriptor, self.value_range_, network, self.n_jobs, changes, glance is not None)
        if store is None:
            parts = units.rows_in_turn(images, *work)
            return MemoryRows(next(parts), room).add(parts)
        return units.stored_rows_of(store, units.findable(images), *work)

    def _work(self) -> tuple[DenseSIFT, tuple[float, float], Network, int | None]:
        return self.descriptor_, self.value_range_, self.network_, self.n_jobs

    def _store(self) -> Store | None:
        if self.store is None:
            cluster.check_that_none_is_meant()
        return None if self.store is None else Store(self.store)

    # --------------------------------------------------------------------------------------------- images

    def _training_images(self, images: Any, labels: Any) -> tuple[Any, np.ndarray]:
        if self.image_shape is not None:
            matrix, labels = validate_data(self, images, labels, dtype="numeric")
            check_classification_targets(labels)
            return self._reshaped(matrix), labels
        images = _sequence(images)
        labels = column_or_1d(labels, warn=True)
        if len(images) != len(labels):
            raise DDLCNError(f"{len(images)} images but {len(labels)} labels: give one label for each image")
        check_classification_targets(labels)
        return images, labels

    def _images(self, images: Any) -> Any:
        check_is_fitted(self, "network_")
        if self.image_shape is not None:
            return self._reshaped(validate_data(self, images, dtype="numeric", reset=False))
        return _sequence(images)

    def _reshaped(self, matrix: np.ndarray) -> np.ndarray:
        try:
            return matrix.reshape(len(matrix), *self.image_shape)  # type: ignore[misc]
        except ValueError:
            raise DDLCNError(
                f"image_shape={self.image_shape} does not fit rows of {matrix.shape[1]} pixels: "
                "give (height, width) whose product is that"
            ) from None


def _classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of labels, two at least, and which of them each label is."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DDLCNError(f"only one class ({classes[0]!s}): a classifier needs at least 2 classes")
    return classes, codes


def _sequence(images: Any) -> Any:
    """Images as something to count and index, or an error that says what to give."""
    if isinstance(images, str | os.PathLike):
        raise DDLCNError(f"{str(images)!r} is one path: give a list of images, as in [{str(images)!r}]")
    if isinstance(images, np.ndarray) and images.ndim == 2:
        raise DDLCNError(
            f"a matrix of shape {images.shape}: set image_shape=(height, width) to say what a row is"
        )
    if not hasattr(images, "__len__"):
        images = list(images)
    if not len(images):
        raise DDLCNError("no images: give at least one")
    return images if isinstance(images, np.ndarray) else list(images)
