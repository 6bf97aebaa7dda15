"""Tasks on the workers of a Dask cluster (extra `cluster`).

Workers get names of entries and small settings; what is large lies in the work folder, which all share. If a worker
is lost, Dask gives its tasks to another. No result depends on the number of workers.
"""

import json
import sys
import uuid
from collections.abc import Generator
from functools import lru_cache
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError
from ddlcn.execution.cache import RESUME, WorkFolder
from ddlcn.execution.keys import Call, Function, Memo, digest, environment, is_object

_SMALL = 1 << 16  # bytes; larger arguments are written to the work folder and sent by name


def active_client() -> Any:
    """The Dask client that is active in this process, or None; Dask is not imported to find out."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.default_client()
    except ValueError:
        return None


def check_no_client() -> None:
    """Raise if a client is active, unless joblib was told to use it: its workers need a work folder."""
    from joblib.parallel import get_active_backend

    if active_client() is not None and "Dask" not in type(get_active_backend()[0]).__name__:
        remedy = "set work_folder= to a folder or address that its workers share, or close the client"
        raise DDLCNError(f"a Dask client is active but there is no work folder: {remedy}")


def connect(address: str, timeout: float = 20.0) -> Any:
    """Run tasks on a scheduler's workers inside a `with` block.

    Parameters
    ----------
    address : str
        Address of the scheduler, as ``tcp://host:8786``.
    timeout : float
        Seconds for it to answer.

    Returns
    -------
    distributed.Client
        For the `with` block, which closes it.

    Raises
    ------
    DDLCNError
        If it does not answer, or Dask is not installed.
    """
    try:
        from distributed import Client

        return Client(address, timeout=timeout)
    except ImportError:
        raise DDLCNError("a Dask scheduler needs dask: pip install 'ddlcn[cluster]'") from None
    except (OSError, ValueError) as error:
        what = f"no Dask scheduler at {address!r} ({' '.join(str(error).split())[:200]})"
        raise DDLCNError(f"{what}: start one, or correct the address") from None


def compute(
    client: Any, folder: WorkFolder, function: Function, tasks: dict[str, Call], memo: Memo, patience: float = 60.0
) -> Generator[str, None, None]:
    """Compute tasks on the workers; yields names in order, once their entries are seen in the work folder.

    `patience` are the seconds without any worker, and for storage to show what a worker wrote.
    """
    from distributed import CancelledError, KilledWorker

    resume = f"finished work stays in {folder.path!r}, {RESUME}"
    own = uuid.uuid4().hex  # keys of other sessions are theirs: a task that they forgot would seem done
    futures, written = list[Any](), set[str]()
    try:
        for name, call in tasks.items():
            sent = [_by_name(folder, each, memo, written) for each in call]
            futures.append(client.submit(_on_worker, folder, name, function, sent, environment(), key=f"{name}-{own}"))
        for future in futures:
            while not future.done():
                _wait_for(client, future, patience, resume)
            name, until = future.result(), monotonic() + patience
            while name not in folder:
                if monotonic() > until:
                    remedy = "give a work folder that this machine and all workers share"
                    raise DDLCNError(f"a worker wrote {name!r} but it is not in {folder.path!r}: {remedy}")
                sleep(0.2)
            yield name
    except (KilledWorker, CancelledError) as error:
        killed = isinstance(error, KilledWorker)  # one task lost several workers, by default four
        what = "lost its workers: give them more memory if that ran out" if killed else "lost its scheduler: start it"
        raise DDLCNError(f"the Dask cluster {what}; {resume}") from None
    finally:
        client.cancel(futures)


def _wait_for(client: Any, future: Any, patience: float, resume: str) -> None:
    """Wait some seconds for a task; raises if there is no worker, or it would be awaited for ever."""
    from distributed import wait

    try:
        wait([future], timeout=min(patience, 5.0))
    except TimeoutError:
        try:
            if not client.scheduler_info()["workers"]:  # one that is paused counts
                client.wait_for_workers(1, timeout=patience)
        except OSError:  # a timeout, or the scheduler is lost too
            raise DDLCNError(f"the Dask cluster has no worker or no scheduler: start it; {resume}") from None


def _on_worker(folder: WorkFolder, name: str, function: Function, sent: list[Any], wanted: str) -> str:
    if wanted != environment():
        what = "a worker has another version of ddlcn, or of a library that it needs"
        raise DDLCNError(f"{what}: install the same versions on all machines")
    return folder.compute(name, function, tuple(_restored(folder, each) for each in sent))


class _Stored(NamedTuple):
    """An argument that lies in the work folder."""

    name: str
    kind: type
    part_types: tuple[type, ...] = ()  # sent so that the worker imports them: it may be new


def _by_name(folder: WorkFolder, value: Any, memo: Memo, written: set[str]) -> Any:
    """The name of an argument that is large, which is written once; or the argument."""
    arrays = value if type(value) in (list, tuple) else [value]
    small = not all(isinstance(each, np.ndarray) for each in arrays) or sum(each.nbytes for each in arrays) <= _SMALL
    if small and not is_object(value):
        return value
    name = f"argument-{digest(value, memo)}"
    if name not in written:
        written.add(name)
        if is_object(value):
            description = np.frombuffer(json.dumps(value.to_dict()).encode(), np.uint8)
            folder.write(name, {"": description, **value.arrays()})
        else:
            folder.write(name, tuple(value) if isinstance(value, list) else value)
    return _Stored(name, type(value), getattr(value, "part_types", ()))


def _restored(folder: WorkFolder, value: Any) -> Any:
    if not isinstance(value, _Stored):
        return value
    if hasattr(value.kind, "from_dict"):
        return _object(folder.path, value)
    found = folder.read(value.name)
    return list(found) if value.kind is list else found


@lru_cache(maxsize=4)
def _object(path: str, stored: Any) -> Any:
    """An object that many tasks need, loaded once in each worker."""
    arrays = WorkFolder(path).read(stored.name)
    return stored.kind.from_dict(json.loads(arrays.pop("").tobytes()), arrays)
