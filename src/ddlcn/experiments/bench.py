"""Compute the rows of a grid that a run directory does not have yet.

Jobs with the same split, q and dictionary images are one piece of work, claimed by one process: methods share
the first dictionary, and rows that differ in t alone share the images' features. Descriptors serve all.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ddlcn.baselines.registry import get_method
from ddlcn.experiments import machine
from ddlcn.experiments.datasets import load_dataset, own_test_rows
from ddlcn.experiments.grid import Grid, Job
from ddlcn.experiments.protocols import Split, draw_split
from ddlcn.experiments.run import Run
from ddlcn.images import ImageSet
from ddlcn.layers.sift import DenseSIFT, Descriptors

_KEPT_BYTES = 2 << 30  # descriptors that are remembered; no answer depends on it
_TIMED_IMAGES = 50  # test images that the time per image is measured on


def bench(
    grid: Grid,
    out: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Fill a run directory; yields the number of rows there and their total, at first and after each row."""
    images = load_dataset(grid.dataset, data)
    jobs = grid.jobs()
    own_test = own_test_rows(grid.dataset, images)
    work = _pieces(images, own_test, jobs, grid.seed)
    run = Run.create(out, grid, {"classes": images.target_names.tolist(), "images": _fingerprint(images)})
    worker = _Worker(images, grid.seed, n_jobs)
    try:
        yield len(run.done()), len(jobs)
        for wait in (False, True):  # what others hold comes last: they finish it, or end and leave it to us
            for number, piece in enumerate(work):
                if run.done().issuperset(piece):
                    continue
                with run.claim(number, wait) as held:
                    missing = {job: split for job, split in piece.items() if held and job not in run.done()}
                    for row in worker.rows(missing):
                        run.append(row)
                        yield len(run.done()), len(jobs)
    finally:
        run.close()


def _pieces(
    images: ImageSet, own_test: np.ndarray | None, jobs: Sequence[Job], seed: int
) -> list[dict[Job, Split]]:
    """Jobs with their splits, together where they share a first dictionary."""
    pieces: dict[Any, dict[Job, Split]] = {}
    splits: dict[Any, Split] = {}
    for job in jobs:
        asked = (job.t, job.p, job.split, seed)
        key = (*asked, job.leak)
        if key not in splits:
            splits[key] = draw_split(images, *asked, own_test, job.leak)
        shared = (job.split, job.leak, job.q, splits[key].dictionary.tobytes())
        pieces.setdefault(shared, {})[job] = splits[key]
    return list(pieces.values())


def _fingerprint(images: ImageSet) -> str:
    """Tells one collection from another by its labels and file names."""
    names = [os.path.basename(path) for path in images.paths or []]
    return hashlib.sha256(repr((images.labels.tolist(), names)).encode()).hexdigest()[:16]


@contextmanager
def _few_images_are_meant() -> Iterator[None]:
    """Keep scikit-learn from warning that one or two images of a class look like regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        yield


class RememberedSIFT(DenseSIFT):
    """DenseSIFT that works on each image once, as long as there is room to remember it."""

    def __sklearn_clone__(self) -> RememberedSIFT:
        return self

    def but(self, **changes: Any) -> DenseSIFT:
        """A plain one, which remembers nothing."""
        return DenseSIFT(**self.get_params() | changes)

    def remember(self, budget: list[int]) -> RememberedSIFT:
        """Start with nothing; `budget` holds the bytes left, shared with others."""
        self._kept: dict[Any, Descriptors] = {}
        self._budget = budget
        return self

    def transform(
        self, image: Any, value_range: tuple[float, float] = (0.0, 1.0), change: Any = None
    ) -> Descriptors:
        """Describe an image, or recall it: files by path, arrays by where they lie in memory."""
        if change is not None:
            return super().transform(image, value_range, change)
        key = image if isinstance(image, str) else (image.__array_interface__["data"], value_range)
        found = self._kept.get(key)
        if found is None:
            found = super().transform(image, value_range)
            self._budget[0] -= found.values.nbytes
            if self._budget[0] > 0:
                self._kept[key] = found
        return found


@dataclass
class _Worker:
    """Works on one data set, remembering descriptors."""

    images: ImageSet
    seed: int
    n_jobs: int | None

    def __post_init__(self) -> None:
        self._budget = [_KEPT_BYTES]
        self._descriptors: dict[str, RememberedSIFT] = {}

    def rows(self, jobs: dict[Job, Split]) -> Iterator[dict[str, Any]]:
        """The rows of one piece of work."""
        first_layers: dict[str, tuple[np.ndarray, float]] = {}
        for name in dict.fromkeys(job.method for job in jobs):
            own = {job: split for job, split in jobs.items() if job.method == name}
            job = next(iter(own))
            staged = hasattr(get_method(name).make(job.p, job.q, self.seed, None), "learn")
            yield from self._staged(own, first_layers) if staged else map(self._whole, own, own.values())

    def _staged(
        self, jobs: dict[Job, Split], first_layers: dict[str, tuple[np.ndarray, float]]
    ) -> Iterator[dict[str, Any]]:
        """Rows that differ in t alone: features once as long as images are seen alike, an SVM each."""
        job, split = next(iter(jobs.items()))
        # the split has drawn p images already, so the model is to take all that it gets
        model: Any = get_method(job.method).make(None, job.q, self.seed, self.n_jobs)
        model.set_params(descriptor=self._remembered(model.descriptor))
        every = np.unique(np.concatenate([np.concatenate([s.train, s.test]) for s in jobs.values()]))
        features: Any = None
        coded: Any = None  # how images are seen in them, and which are
        for job, split in jobs.items():
            with _few_images_are_meant():
                given, target = self._take(split.train), self.images.target[split.train]
                seconds = self._learnt(model.stand(given, target), split, first_layers)
                train = split.train[model.weigh(given, target).pick(given, target)]
                needed = every if model.picked_from_ is None else np.union1d(train, split.test)
                seen = (model.network_.deep, repr(model.descriptor_.get_params()), needed.tobytes())
                if seen != coded:
                    features, start = None, perf_counter()  # makes room
                    features, coded = model.transform(self._take(needed)), seen
                    coding = perf_counter() - start
                model.descriptor_ = model.descriptor_.but()  # copies are not worth remembering
                rows = features[np.searchsorted(needed, train)]
                model.train(*model.augment(self._take(train), rows, self.images.target[train]))
            scores = model.svm_.scores(features[np.searchsorted(needed, split.test)])
            predicted = model.svm_.labels(model.look_again(self._take(split.test), scores))
            yield self._row(job, split, predicted, seconds | {"coding": coding} | model.timings_, model)

    def _learnt(
        self, model: Any, split: Split, first_layers: dict[str, tuple[np.ndarray, float]]
    ) -> dict[str, float]:
        """Have a model learn its dictionaries, or recall the first of them; the seconds that these took."""
        stood = dict(model.timings_)
        key = repr((model.descriptor_.get_params(), model.l1_radius, model.preset))
        atoms, before = first_layers.get(key, (None, 0.0))
        given = self._take(split.dictionary), self.images.target[split.dictionary]
        model.learn(*given, atoms, model.descriptor_)
        seconds = model.timings_["dictionaries"] + before
        first_layers.setdefault(key, (model.network_.dictionaries[0], seconds))
        model.timings_.clear()
        return stood | {"dictionaries": seconds}

    def _whole(self, job: Job, split: Split) -> dict[str, Any]:
        """A row of an estimator that only fits and predicts."""
        model: Any = get_method(job.method).make(job.p, job.q, self.seed, self.n_jobs)
        start = perf_counter()
        with _few_images_are_meant():
            model.fit(self._take(split.train), self.images.target[split.train])
        fitted = perf_counter()
        predicted = model.predict(self._take(split.test))
        seconds = {"fit": fitted - start, "predict": perf_counter() - fitted}
        return self._row(job, split, predicted, seconds, model)

    def _row(
        self, job: Job, split: Split, predicted: np.ndarray, seconds: dict[str, float], model: Any
    ) -> dict[str, Any]:
        truth, n_classes = self.images.target[split.test], len(self.images.target_names)
        right, count = (
            np.bincount(codes, minlength=n_classes).tolist() for codes in (truth[truth == predicted], truth)
        )
        return {
            **job._asdict(),
            "seed": self.seed,
            "layers": 1 + len(getattr(model, "deeper_atoms", ())),
            "copies": getattr(model, "copies_", None),
            "upright": getattr(getattr(model, "descriptor_", None), "upright", None) is not None,
            "picked_from": getattr(model, "picked_from_", None),
            "deep": getattr(getattr(model, "network_", None), "deep", None),  # rivals have none
            "images": {key: len(rows) for key, rows in split._asdict().items()},
            "accuracy": float((truth == predicted).mean()),
            "class_accuracy": [r / n if n else None for r, n in zip(right, count, strict=True)],
            "predicted": predicted.tolist(),
            "truth": truth.tolist(),
            "seconds": {stage: round(value, 4) for stage, value in seconds.items()},
            "ms_per_test_image": self._ms(model, split.test),
            "n_jobs": self.n_jobs,
            "peak_memory_mb": machine.peak_memory_mb(),
            **machine.facts(),
        }

    def _ms(self, model: Any, test: np.ndarray) -> float:
        """Milliseconds from an image to its label, on one thread."""
        sample = self._take(test[:: max(1, len(test) // _TIMED_IMAGES)])
        if hasattr(model, "n_jobs"):
            model.n_jobs = 1
        start = perf_counter()
        model.predict(sample)
        spent = perf_counter() - start
        if hasattr(model, "n_jobs"):
            model.n_jobs = self.n_jobs
        return round(1000 * spent / len(sample), 4)

    def _take(self, rows: np.ndarray) -> list[Any]:
        return [self.images.images[row] for row in rows]  # views of arrays, so that they can be recalled

    def _remembered(self, descriptor: DenseSIFT) -> RememberedSIFT:
        params = descriptor.get_params()
        if repr(params) not in self._descriptors:
            self._descriptors[repr(params)] = RememberedSIFT(**params).remember(self._budget)
        return self._descriptors[repr(params)]
