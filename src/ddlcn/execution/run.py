"""Where tasks run: on threads; with a work folder that has their results; or on a Dask cluster that shares it.

A task is a call of a function that depends on nothing but its arguments, as the dictionary of a class or the features
of some images. Results are the same wherever tasks run.
"""

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution import dask, features
from ddlcn.execution.cache import EntryError, WorkFolder
from ddlcn.execution.keys import Call, Function, Memo, task_key
from ddlcn.execution.progress import Stopwatch, listen, progress_bars, track

Results = Generator[Any, None, None]
Valid = Callable[..., bool]


@contextmanager
def session(
    work_folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    on_cluster: bool = True,
) -> Iterator["Run"]:
    """Run tasks inside a `with` block; at its end nothing is left running or locked.

    Parameters
    ----------
    work_folder : str or path, optional
        A folder, or any fsspec address, that gets the result of each task: after an interruption, run the same
        again to resume. If a Dask client is active, its workers run the tasks; they must share the folder.
    n_jobs : int, optional
        Threads; -1 is all cores.
    verbose : bool
        Show progress bars on standard error.
    on_cluster : bool
        Whether an active Dask client is meant; if not, tasks without a work folder run here all the same.

    Yields
    ------
    Run

    Raises
    ------
    DDLCNError
        If the folder can't be used, or a Dask client is active and there is no work folder.

    Examples
    --------
    >>> with session(n_jobs=2) as run:
    ...     list(run.map("length", len, [("ab",), ("abc",)], "Lengths"))
    [2, 3]
    """
    folder = None if work_folder is None else WorkFolder(work_folder)
    with ExitStack() as stack:
        if folder is not None:
            stack.enter_context(folder.in_use())
        elif on_cluster:
            dask.check_no_client()
        if verbose:
            stack.enter_context(listen(stack.enter_context(progress_bars())))
        stack.enter_context(one_blas_thread())
        yield stack.enter_context(closing(Run(n_jobs, folder)))


class Run:
    """Tasks on threads, or on what joblib's `parallel_config` says. Made by :func:`session`.

    With a work folder, results are entries of it, and tasks run on Dask's workers while a client is active.

    Attributes
    ----------
    n_jobs : int or None
    timings : dict
        Seconds by stage.
    keeps : bool
        Whether there is a work folder, so that `save` writes.
    """

    def __init__(self, n_jobs: int | None, folder: WorkFolder | None = None) -> None:
        self.n_jobs, self.timings, self.keeps = n_jobs, Stopwatch(), folder is not None
        self._folder, self._maps = folder, list[Results]()

    def map(
        self, kind: str, function: Function, calls: Iterable[Call], stage: str, valid: Valid | None = None
    ) -> Iterator[Any]:
        """Results of ``function(*call)`` for each call, in order.

        Parameters
        ----------
        kind : str
            First part of the names of entries in the work folder.
        function : callable
            A function of a module. Its result depends on its arguments only, and is an array, a tuple of arrays
            or a csr_array.
        calls : iterable of tuple
            Arguments: numbers, text, paths, arrays, estimators, objects with `to_dict`, `arrays` and
            `from_dict`, and lists, tuples and dicts of these.
        stage : str
            Name for those who listen to progress.
        valid : callable, optional
            ``valid(result, *call)`` says whether a result has the type and shape of the call's. An entry of the work
            folder that has not is computed again.

        Yields
        ------
        array, tuple of arrays or csr_array
            One after the other; nothing is computed before the first is requested.
        """
        calls, folder = list(calls), self._folder
        if folder is None:
            results = self._parallel(function, calls)
        else:
            results = self._resume(folder, kind, function, calls, valid)
        self._maps.append(results)
        return track(stage, results, total=len(calls))

    def time(self, stage: str) -> AbstractContextManager[None]:
        """Add the time of a `with` block to a stage of `timings`."""
        return self.timings.time(stage)

    def assemble(self, parts: Iterable[csr_array], n_columns: int) -> csr_array:
        """One csr_array from sparse rows; a large one lies on disk (:func:`ddlcn.execution.features.assemble`)."""
        return features.assemble(parts, n_columns, self._folder.local if self._folder else None)

    def save(self, name: str, arrays: dict[str, np.ndarray] | csr_array) -> None:
        """Write an entry for `read`; without a work folder, nothing."""
        if self._folder is not None:
            self._folder.write(name, arrays)

    def read(self, name: str) -> Any:
        """Read an entry, of this session or one before.

        Raises
        ------
        DDLCNError
            If there is no work folder, or the entry is missing or invalid.
        """
        if self._folder is None:
            raise DDLCNError("this needs the work folder of the training: set work_folder= (--work DIR)")
        try:
            return self._folder.read(name)
        except EntryError as error:
            raise EntryError(f"{error}: train again with this work folder") from None

    def close(self) -> None:
        """Stop what is still running."""
        for results in self._maps:
            results.close()

    def _parallel(self, function: Function, calls: list[Call]) -> Results:
        tasks = (delayed(_task)(function, call) for call in calls)
        results = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
        try:
            for result in results:  # noqa: UP028  # `yield from` would close it with a warning
                yield result
        finally:
            with warnings.catch_warnings(action="ignore"):  # of unused results
                results.close()

    def _resume(
        self, folder: WorkFolder, kind: str, function: Function, calls: list[Call], valid: Valid | None
    ) -> Results:
        """Results that are read from the work folder, and computed first if they are not there."""
        memo: Memo = {}
        names = [f"{kind}-{task_key(function, call, memo)}" for call in calls]
        have, tasks = folder.names(), dict(zip(names, calls, strict=True))
        missing = {name: call for name, call in tasks.items() if name not in have}
        with closing(self._write(folder, function, missing, memo)) as written:
            for name in names:
                while name not in have:
                    have.add(next(written))
                try:
                    result = folder.read(name)
                    if valid is not None and not valid(result, *tasks[name]):
                        raise EntryError(f"{name!r} in {folder.path!r} has another type or shape than its task's")
                except EntryError as error:
                    warnings.warn(f"{error}: it is computed again", stacklevel=2)
                    folder.delete(name)
                    (again,) = self._write(folder, function, {name: tasks[name]}, memo)
                    result = folder.read(again)
                yield result

    def _write(self, folder: WorkFolder, function: Function, tasks: dict[str, Call], memo: Memo) -> Results:
        """Write the entries of tasks; yields their names in order."""
        if tasks and (client := dask.active_client()) is not None:
            return dask.compute(client, folder, function, tasks, memo)
        return self._parallel(folder.compute, [(name, function, call) for name, call in tasks.items()])


def _task(function: Function, call: Call) -> Any:
    with one_blas_thread():
        return function(*call)
