"""Compute the rows of a grid that a run folder does not have yet.

Jobs with the same training images, p and q are one piece of work, claimed by one process. Its rows share a cache of
tasks, so that dictionaries and features that are equal are computed once. The cache is removed when the piece is
complete.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ddlcn import learning
from ddlcn.classifier import DDLCNClassifier
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError
from ddlcn.execution import session
from ddlcn.images import ImageSet, absolute, canonical_order, take, value_range
from ddlcn.linear.svm import LinearSVM
from ddlcn.presets import settings_of
from ddlcn_lab import machine
from ddlcn_lab.datasets import get_source, load_dataset, own_test_rows
from ddlcn_lab.grid import Grid, Job
from ddlcn_lab.methods.registry import get_method
from ddlcn_lab.protocols import Split, draw_leaked, draw_split
from ddlcn_lab.run_folder import Run

_TIMED_IMAGES = 50  # test images that the time per image is measured on


def bench(
    grid: Grid,
    out: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Fill a run folder. Run it again to resume; several processes may work on one folder.

    Parameters
    ----------
    grid : Grid
    out : path
        The run folder.
    data : path, optional
        Folder of the data sets.
    n_jobs : int or None
        Threads.

    Yields
    ------
    (int, int)
        The number of rows that are there and their total, at first and after each row.

    Raises
    ------
    DDLCNError
        If the data are not there, or the folder is of another grid.
    """
    images, jobs = load_dataset(grid.dataset, data), grid.jobs()
    pieces = _pieces(jobs)
    worker = Worker(grid.dataset, images, grid.seed, n_jobs)
    for job in jobs:
        worker.split(job)  # an error is raised before anything is computed
    run = Run.create(out, grid, {"classes": images.target_names.tolist(), "images": _fingerprint(images)})
    yield len(run.done()), len(jobs)
    for wait in (False, True):  # pieces of other processes last: they finish them, or end and free them
        for number, piece in enumerate(pieces):
            if run.done().issuperset(piece):
                continue
            with run.claim(number, wait) as claimed:
                for job in piece if claimed else ():
                    if job not in run.done():
                        run.append(worker.row(job, run.cache(number)))
                        yield len(run.done()), len(jobs)
                if claimed:
                    run.remove_cache(number)
    run.clean()


def _pieces(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that can share tasks. Leaked dictionaries do not depend on t; other rows of different t share nothing."""
    pieces: dict[Any, list[Job]] = {}
    for job in jobs:
        pieces.setdefault((job.split, job.p, job.q, "leak" if job.leak else job.t), []).append(job)
    return list(pieces.values())


def _fingerprint(images: ImageSet) -> str:
    """Tells one collection from another by its labels and file names."""
    names = [os.path.basename(path) for path in images.paths or []]
    return hashlib.sha256(repr((images.labels.tolist(), names)).encode()).hexdigest()[:16]


@contextmanager
def _few_images_per_class() -> Iterator[None]:
    """Keep scikit-learn from warning that one or two images per class look like regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        yield


@dataclass(frozen=True)
class Worker:
    """Computes rows on one data set."""

    dataset: str
    images: ImageSet
    seed: int
    n_jobs: int | None

    def split(self, job: Job) -> Split:
        """The images of a job."""
        own_test, most_test = own_test_rows(self.dataset, self.images), get_source(self.dataset).most_test
        return draw_split(self.images, job.t, job.split, self.seed, own_test, most_test)

    def row(self, job: Job, cache: Path | None = None) -> dict[str, Any]:
        """Compute a row; `cache` is the work folder of a piece of work."""
        split = self.split(job)
        model: Any = get_method(job.method).make(job.p, job.q, self.seed, self.n_jobs)
        if hasattr(model, "work_folder"):
            model.work_folder = cache
        train, y = self._take(split.train)
        start = perf_counter()
        with _few_images_per_class():
            if job.leak:
                dictionary = draw_leaked(self.images, job.p, job.split, self.seed)
                fit_with_leak(model, *self._take(dictionary), train, y, cache)
            else:
                model.fit(train, y)
        fitted = perf_counter()
        test, truth = self._take(split.test)
        predicted = self._predicted(model, test, cache)
        seconds = {"fit": fitted - start, "predict": perf_counter() - fitted} | getattr(model, "timings_", {})
        return {
            **job._asdict(),
            "seed": self.seed,
            "layers": _layers(model),
            "selection": _chosen(model),
            "images": {key: len(rows) for key, rows in split._asdict().items()},
            **_figures(truth, predicted, len(self.images.target_names)),
            "seconds": {stage: round(value, 4) for stage, value in seconds.items()},
            "ms_per_test_image": _ms(model, test[:: max(1, len(test) // _TIMED_IMAGES)]),
            "n_jobs": self.n_jobs,
            "peak_memory_mb": machine.peak_memory_mb(),
            **machine.facts(),
        }

    def _predicted(self, model: Any, images: Any, cache: Path | None) -> np.ndarray:
        """Labels; features of a DDLCNClassifier go through the cache too."""
        if not isinstance(model, DDLCNClassifier):
            return model.predict(images)
        with session(cache, self.n_jobs) as run:
            parts = learning.encode(model.encoder_, images, run)
            return model.svm_.labels(np.concatenate([model.svm_.scores(part) for part in parts]))

    def _take(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Images and their integer labels."""
        images: Any = self.images.images
        return absolute(take(images, rows)), self.images.target[rows]


def fit_with_leak(
    model: DDLCNClassifier, dictionary: Any, dictionary_y: np.ndarray, X: Any, y: np.ndarray, work_folder: Any
) -> DDLCNClassifier:
    """Fit a classifier with the paper's leak: its dictionaries are learnt on images that are given.

    Parameters
    ----------
    model : DDLCNClassifier
        With neither deskewing nor augmentation.
    dictionary, dictionary_y : images and their integer labels
        What dictionaries are learnt on, test images included.
    X, y : images and their integer labels
        What the SVM is trained on.
    work_folder : path

    Returns
    -------
    DDLCNClassifier
        The model, able to predict.
    """
    settings = settings_of(model)
    if settings.deskew or settings.augmentation != "none":
        raise DDLCNError("the leak is for methods with deskew=False and augmentation='none': leave these out")
    with session(work_folder, model.n_jobs) as run:
        grey, seed = value_range(X), int(model.random_state)  # type: ignore[arg-type]
        order = canonical_order(dictionary, dictionary_y, np.ones(len(dictionary_y)))
        dictionary, dictionary_y = take(dictionary, order), dictionary_y[order]
        encoder = learning.learn_encoder(settings.channels, None, grey, dictionary, dictionary_y, seed, run)
        rows = learning.encoded(encoder, X, run)
        svm = LinearSVM(settings.C, model.class_weight, random_state=seed, n_jobs=model.n_jobs).fit(rows, y)
    model.encoder_, model.svm_, model.classes_, model.selection_ = encoder, svm, svm.classes_, []
    return model


def _ms(model: Any, images: Any) -> float:
    """Milliseconds from an image to its label, on one thread."""
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1
    start = perf_counter()
    model.predict(images)
    return round(1000 * (perf_counter() - start) / len(images), 4)


def _layers(model: Any) -> int | None:
    """Dictionaries of the first channel; None for other methods."""
    encoder = getattr(model, "encoder_", None)
    return len(encoder.channels[0].dictionaries) if isinstance(encoder, ImageEncoder) else None


def _chosen(model: Any) -> dict[str, Any]:
    """Settings by selection, as {setting: candidate}."""
    return {row["setting"]: row["candidate"] for row in getattr(model, "selection_", ()) if row["chosen"]}


def _figures(truth: np.ndarray, predicted: np.ndarray, n_classes: int) -> dict[str, Any]:
    """What tables are made of."""
    counts = confusion_matrix(truth, predicted, labels=np.arange(n_classes))
    recall = [
        right / n if n else None for right, n in zip(np.diag(counts).tolist(), counts.sum(axis=1).tolist(), strict=True)
    ]
    return {
        "accuracy": float((truth == predicted).mean()),
        "balanced_accuracy": float(np.mean([each for each in recall if each is not None])),
        "class_accuracy": recall,
        "predicted": predicted.tolist(),
        "truth": truth.tolist(),
    }
