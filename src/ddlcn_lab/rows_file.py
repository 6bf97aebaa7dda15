"""One file of result rows, of any data sets and methods, for one version of the source.

A row is keyed by the hash of the source, data set, method, p, q, t, split and seed. It is appended when it is
complete, so a run can be stopped at any time: the same command resumes it. Rows of another source stay in the file and
are ignored. Several processes may fill one file: a task is claimed by a lock file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.images import ImageSet
from ddlcn_lab import machine
from ddlcn_lab.datasets import load_dataset
from ddlcn_lab.grid import Job
from ddlcn_lab.run_folder import append_row, claim, job_of, read_rows
from ddlcn_lab.runner import Worker

# of a row of `runner`, what is not kept: it is large, or of the whole process
_LEFT_OUT = ("truth", "predicted", "class_accuracy", "versions", "machine", "peak_memory_mb")


class Task(NamedTuple):
    """One row to compute, on a data set."""

    dataset: str
    job: Job
    seed: int = 0


class RowsFile:
    """Rows in a file.

    Parameters
    ----------
    path : path
        It need not exist.
    source : str, optional
        Hash of the source whose rows count; by default that of the last row, or of this source in an empty file.

    Attributes
    ----------
    rows : list of dict
        Those of the source.
    others : list of dict
        Those of other sources.
    """

    def __init__(self, path: str | os.PathLike[str], source: str | None = None) -> None:
        self.path, self.rows, self.others, self._end = Path(path), list[dict[str, Any]](), list[dict[str, Any]](), 0
        found = list(read_rows(self.path)) if source is None else []
        if found and "source" not in found[-1][0]:
            raise DDLCNError(f"{path} has no rows of ddlcn bench paper: name the run folder that it is in")
        self.source = source or (found[-1][0]["source"] if found else machine.source_hash())
        self._done: dict[Task, dict[str, Any]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since the last call, by any process."""
        for row, end in read_rows(self.path, self._end):
            self._end = end
            if row.get("source") != self.source:
                self.others.append(row)
            elif self._done.setdefault(task_of(row), row) is row:
                self.rows.append(row)

    def __contains__(self, task: Task) -> bool:
        return task in self._done

    def fill(
        self,
        tasks: Sequence[Task],
        data: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        hours: float | None = None,
    ) -> Iterator[tuple[Task, dict[str, Any]]]:
        """Compute the rows that are not there.

        Parameters
        ----------
        tasks : sequence of Task
            In the order in which they are run.
        data : path, optional
            Folder of the data sets.
        n_jobs : int or None
            Threads.
        hours : float, optional
            After this time no row is started.

        Yields
        ------
        (Task, dict)
            Each row after it is written. A method that fails has a row with `error`; what this machine lacks (a data
            set, a package, memory) gives rows with `error` that are not written.
        """
        start, sets = perf_counter(), dict[str, ImageSet | DDLCNError]()
        locks = self.path.with_name(f".{self.path.name}.locks")
        locks.mkdir(parents=True, exist_ok=True)
        for task in tasks:
            if hours is not None and perf_counter() - start > 3600 * hours:
                break
            lock = locks / f"{sha256(repr(task).encode()).hexdigest()[:16]}.lock"
            with claim(lock) as claimed:
                self.refresh()
                if not claimed or task in self:
                    continue
                if task.dataset not in sets:
                    sets[task.dataset] = _loaded(task.dataset, data)
                images = sets[task.dataset]
                if isinstance(images, DDLCNError):
                    yield task, {"error": str(images)}
                    continue
                row = {"source": self.source, "dataset": task.dataset, "n_jobs": n_jobs}
                try:
                    row |= _measured(task, images, n_jobs)
                except (ImportError, MemoryError) as error:  # of this machine, not of the method
                    yield task, {"error": str(error) or "too little memory"}
                    continue
                append_row(self.path, row, locks / "append.lock")
                self.refresh()
                yield task, row
        for lock in set(locks.glob("*.lock")) - {locks / "append.lock"}:
            with claim(lock) as claimed, suppress(OSError):
                if claimed:
                    lock.unlink()


def task_of(row: dict[str, Any]) -> Task:
    """Return the task of a row."""
    return Task(row["dataset"], job_of(row), row["seed"])


def _loaded(dataset: str, data: str | os.PathLike[str] | None) -> ImageSet | DDLCNError:
    try:
        return load_dataset(dataset, data)
    except DDLCNError as error:
        return error


def _measured(task: Task, images: ImageSet, n_jobs: int | None) -> dict[str, Any]:
    """A row without what is large: test images that were classified wrongly stand for truth and predictions."""
    try:
        row = Worker(task.dataset, images, task.seed, n_jobs).row(task.job)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # one method must not end a run of a day
        what = " ".join(str(error).split())[:200] or type(error).__name__
        return task.job._asdict() | {"seed": task.seed, "error": what, "commit": machine.facts()["commit"]}
    truth, predicted = np.array(row["truth"]), np.array(row["predicted"])
    kept = {key: value for key, value in row.items() if key not in _LEFT_OUT}
    kept["wrong"] = np.flatnonzero(truth != predicted).tolist()
    if task.job.split == 0 and task.job.method.startswith(("ddlcn", "mnist")) and not task.job.leak:
        pairs, counts = np.unique(np.stack([truth, predicted], axis=1), axis=0, return_counts=True)
        kept["confusion"] = np.column_stack([pairs, counts]).tolist()  # [true, predicted, images]
        kept["classes"] = images.target_names.tolist()
    return kept
