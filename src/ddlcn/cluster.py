"""The same units of work on a Dask cluster (extra `cluster`).

Workers get names of files and small settings; what they read and write lies in the store, which they share.
A unit is computed by one worker or, if that dies, by another. No answer depends on how many there are.
"""

from __future__ import annotations

import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from ddlcn.errors import DDLCNError

if TYPE_CHECKING:
    from ddlcn.store import Store

_AT_ONCE = 1000  # units that the scheduler knows of
_LARGEST_SENT = 1 << 16  # bytes; larger arrays are written to the store and sent by name
_GREETING = 20  # seconds for a scheduler to answer
_PATIENCE = 60  # seconds for a first worker, and for shared storage to show what a worker wrote


def active_client() -> Any:
    """The Dask client that is active in this process, or None; Dask is not imported to find out."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def check_that_none_is_meant() -> None:
    """Raise if a client is active though there is no store to share, unless joblib was told to use it."""
    from joblib.parallel import get_active_backend

    if active_client() is None or "Dask" in type(get_active_backend()[0]).__name__:
        return
    raise DDLCNError(
        "a Dask client is active but there is no store: set store= to a folder or address that its workers "
        "share, or close the client to train on this machine"
    )


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Make a scheduler's cluster the place of work inside a `with` block."""
    try:
        from distributed import Client
    except ImportError:
        raise DDLCNError("a Dask scheduler needs dask: pip install 'ddlcn[cluster]'") from None
    try:
        client = Client(address, timeout=_GREETING)
    except (OSError, ValueError) as error:
        what = " ".join(str(error).split())[:200]
        raise DDLCNError(
            f"no Dask scheduler at {address!r} ({what}): start one, or mend the address"
        ) from None
    with client:
        yield client


def finish(client: Any, store: Store, function: Callable[..., Any], units: dict[str, tuple]) -> Iterator[str]:
    """Compute units on the workers; yields their names in order, once they are seen in the store."""
    from distributed import CancelledError, KilledWorker

    from ddlcn.store import code

    if not units:
        return
    lost = f"finished work is kept in {store.path!r}, give the same command to go on"
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise DDLCNError(f"the Dask cluster has no worker: start one; {lost}") from None
    own = uuid.uuid4().hex  # keys of other runs are theirs: a unit that they forgot would seem done
    futures: deque[Any] = deque()
    try:
        for name, call in units.items():
            sent = tuple(_by_name(store, each) for each in call)
            task = (store, name, function, sent, code())
            futures.append(client.submit(_on_worker, *task, key=f"{name}-{own}"))
            if len(futures) >= _AT_ONCE:
                yield _seen(store, futures.popleft().result())
        while futures:
            yield _seen(store, futures.popleft().result())
    except (KilledWorker, CancelledError) as error:
        raise DDLCNError(f"the Dask cluster lost its workers ({type(error).__name__}): {lost}") from None
    finally:
        client.cancel(list(futures))


def _seen(store: Store, name: str) -> str:
    until = monotonic() + _PATIENCE
    while name not in store:
        if monotonic() > until:
            raise DDLCNError(
                f"a worker finished {name!r} but it is not in {store.path!r}: "
                "give a store that this machine and all workers share"
            )
        sleep(0.2)
    return name


class _Stored:
    """An array in the store."""

    def __init__(self, name: str) -> None:
        self.name = name


def _by_name(store: Store, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.nbytes > _LARGEST_SENT:
        return _Stored(store.keep(value))
    return value


def _on_worker(store: Store, name: str, function: Callable[..., Any], call: tuple, wanted: str) -> str:
    from ddlcn.store import code, finish_unit

    if wanted != code():
        raise DDLCNError(
            "a worker has another version of ddlcn, or of what it needs: install the same on all"
        )
    return finish_unit(
        store,
        name,
        function,
        tuple(store.read(each.name) if isinstance(each, _Stored) else each for each in call),
    )
