"""Finished units of work, each written whole under one folder, so that nothing is computed twice.

A unit is one call of a function: the dictionary of a class, the rows of some images, the SVMs of a few
classes. Its name is a fingerprint of the function, of all that it is given and of the code, so a name stands
for one result: interrupted work goes on, other settings share what they can, several runs and machines write
to one store, and what belongs to something else is never taken for one's own.

A store is a folder, or any fsspec path (`s3://…`, extra `cluster`). Units are safetensors, never pickle.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from safetensors import SafetensorError
from safetensors.numpy import save
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from ddlcn import cluster
from ddlcn.errors import DDLCNError
from ddlcn.layers.threads import one_blas_thread
from ddlcn.storage import Folder, Remote

_END = ".safetensors"


class Store:
    """Units by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     names = list(store.finish("root", np.sqrt, [(np.array([4.0]),), (np.array([9.0]),)]))
    ...     [float(store.read(name)[0]) for name in names], store.names() == set(names)
    ([2.0, 3.0], True)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = os.fspath(path)
        self._files: Folder | Remote = Remote(given) if "://" in given else Folder(given)
        self.path = given if "://" in given else self._files.path

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return Store, (self.path,)

    def names(self) -> set[str]:
        """All finished units."""
        return {name.removesuffix(_END) for name in self._files.names() if name.endswith(_END)}

    def __contains__(self, name: str) -> bool:
        return self._files.has(name + _END)

    def read(self, name: str) -> Any:
        """What a unit gave: an array, a tuple of arrays, or sparse rows."""
        try:
            return _result(self._files.read(name + _END))
        except FileNotFoundError:
            raise DDLCNError(
                f"{name!r} has gone from {self.path!r}: give the same command again to compute it anew"
            ) from None
        except (SafetensorError, KeyError, ValueError) as error:
            raise DDLCNError(
                f"{self.path!r} has a damaged unit {name + _END!r} ({str(error)[:100]}): "
                "delete that file and give the same command, which computes it anew"
            ) from None

    def write(self, name: str, result: Any) -> None:
        """Keep a result, whole or not at all."""
        try:
            self._files.write(name + _END, save(_tensors(result)))
        except OSError as error:
            raise DDLCNError(
                f"can't write to {self.path!r} ({error.strerror or error}): free some space or mend "
                "permissions, and give the same command; finished work is kept there"
            ) from None

    def keep(self, array: np.ndarray) -> str:
        """Write an array under a name made from its content, if it is not there."""
        name = f"array-{fingerprint(array)}"
        if name not in self:
            self.write(name, array)
        return name

    def finish(
        self, kind: str, function: Callable[..., Any], calls: Sequence[tuple], n_jobs: int | None = None
    ) -> Iterator[str]:
        """Have a unit for each call, computing those that are missing; yields their names in order.

        Units are computed by joblib, on threads unless `parallel_config` says otherwise; or, while a Dask
        client is active, by its workers.
        """
        names = [f"{kind}-{fingerprint(code(), _name(function), call)}" for call in calls]
        have = self.names()
        missing = {name: call for name, call in zip(names, calls, strict=True) if name not in have}
        with one_blas_thread():
            finished = self._finish(function, missing, n_jobs) if missing else iter(())
            for name in names:
                while name not in have:
                    have.add(next(finished))
                yield name
            for _ in finished:  # none is left, but joblib wants to hear of it
                pass

    def _finish(
        self, function: Callable[..., Any], units: dict[str, tuple], n_jobs: int | None
    ) -> Iterator[str]:
        client = cluster.active_client()
        if client is not None:
            return cluster.finish(client, self, function, units)
        return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(finish_unit)(self, name, function, call) for name, call in units.items()
        )

    def in_use(self) -> AbstractContextManager[None]:
        """Keep other processes of this machine from removing the store inside a `with` block."""
        return self._files.in_use()

    def remove(self) -> None:
        """Delete a folder that is `in_use` here, unless it is elsewhere too: the last one out deletes it."""
        self._files.remove()


def finish_unit(store: Store, name: str, function: Callable[..., Any], call: tuple) -> str:
    """Compute and write one unit, wherever this runs."""
    if name not in store:
        with one_blas_thread():
            store.write(name, function(*(each.get() if isinstance(each, Shared) else each for each in call)))
    return name


class Shared:
    """What many units need, as a recipe: small to send, followed once in each process that works on them."""

    _made: dict[str, Any] = {}  # noqa: RUF012  # in this process
    _lock = Lock()

    def __init__(self, make: Callable[..., Any], *args: Any, made: Any = None) -> None:
        self.make, self.args, self._here = make, args, made
        self.name = fingerprint(_name(make), args)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_here": None}

    def get(self) -> Any:
        """The thing itself."""
        if self._here is not None:
            return self._here
        with self._lock:
            if self.name not in self._made:
                while len(self._made) > 1:
                    self._made.pop(next(iter(self._made)))
                self._made[self.name] = self.make(*self.args)
            return self._made[self.name]


# --------------------------------------------------------------------------------------------- fingerprints


def fingerprint(*values: Any) -> str:
    """Tell values from others: numbers, text, arrays by content, files (paths) by name, size and time.

    >>> fingerprint(1, np.zeros(2)) == fingerprint(1, np.zeros(2)) != fingerprint(1, np.zeros(3))
    True
    """
    digest = hashlib.sha256()
    _feed(digest.update, values)
    return digest.hexdigest()[:32]


def _feed(take: Callable[[Any], None], value: Any) -> None:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise DDLCNError(f"an array of {value.dtype} can't be told from another: give numbers or text")
        take(f"array {value.dtype.str} {value.shape};".encode())
        take(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, str | bool | int | float | np.generic):
        take(f"{type(value).__name__} {value!r};".encode(errors="surrogateescape"))
    elif isinstance(value, os.PathLike):
        try:
            facts = os.stat(value)
        except OSError as error:
            what = f"{os.fspath(value)!r} can't be read ({error.strerror})"
            raise DDLCNError(f"{what}: check the path and its permissions") from None
        _feed(take, (os.fspath(value), facts.st_size, facts.st_mtime_ns))
    elif isinstance(value, list | tuple):
        take(f"{len(value)} [".encode())
        for each in value:
            _feed(take, each)
    elif isinstance(value, dict):
        _feed(take, sorted(value.items()))
    elif isinstance(value, BaseEstimator):
        _feed(take, (_name(type(value)), value.get_params(deep=False)))
    elif isinstance(value, Shared):
        _feed(take, ("shared", value.name))
    elif not isinstance(value, Store):  # where a unit lies says nothing about what it is
        raise TypeError(f"{type(value).__name__} has no fingerprint")


def _name(function: Any) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', function.__name__)}"


@cache
def code() -> str:
    """All that could make the same call give another result: our modules, and those of others by version."""
    digest = hashlib.sha256()
    for name in ("numpy", "scipy", "numba", "pillow", "scikit-learn"):
        digest.update(f"{name} {version(name)};".encode())
    root = Path(__file__).parent
    for module in sorted(root.rglob("*.py")):
        if module.parent.name in ("ddlcn", "kernels", "layers", "images"):
            digest.update(module.read_bytes())
    return digest.hexdigest()[:32]


# ------------------------------------------------------------------------------------------------- results


def _tensors(result: Any) -> dict[str, np.ndarray]:
    if isinstance(result, csr_array):
        parts = {"data": result.data, "indices": result.indices, "indptr": result.indptr}
        parts["shape"] = np.array(result.shape)
        return {name: np.ascontiguousarray(part) for name, part in parts.items()}
    if isinstance(result, tuple):
        return {str(i): np.ascontiguousarray(part) for i, part in enumerate(result)}
    return {"array": np.ascontiguousarray(result)}


def _result(tensors: dict[str, np.ndarray]) -> Any:
    if "indptr" in tensors:
        rows, columns = tensors["shape"].tolist()
        return csr_array((tensors["data"], tensors["indices"], tensors["indptr"]), shape=(rows, columns))
    if "array" in tensors:
        return tensors["array"]
    return tuple(tensors[str(i)] for i in range(len(tensors)))
