"""Short calls on threads. joblib looks only every 10 ms whether a thread is done, which is longer than these take."""

from collections.abc import Callable, Iterable
from threading import Lock, Thread
from typing import Any

from joblib import cpu_count
from joblib.parallel import get_active_backend


def map_threads(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None = None) -> list[Any]:
    """Results of ``function(*call)`` for each call, in order.

    Ctrl-C does not wait for calls that run.

    Parameters
    ----------
    function : callable
    calls : iterable of tuple
        Taken one by one, as threads get to them.
    n_jobs : int or None
        Threads, as in joblib.

    Returns
    -------
    list

    Examples
    --------
    >>> map_threads(pow, [(2, 3), (3, 2)], n_jobs=2)
    [8, 9]
    """
    if n_jobs == 1 or (n_threads := _n_threads(n_jobs)) == 1:
        return [function(*call) for call in calls]
    waiting, lock = enumerate(calls), Lock()
    results, errors = dict[int, Any](), list[BaseException]()

    def work() -> None:
        try:
            while not errors:
                with lock:
                    number, call = next(waiting, (-1, ()))
                if number < 0:
                    break
                results[number] = function(*call)
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=work, daemon=True) for _ in range(n_threads)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)  # on Windows a wait without an end can't be interrupted
    except BaseException as error:
        errors.append(error)
        raise
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(results))]


def _n_threads(n_jobs: int | None) -> int:
    backend, default = get_active_backend(require="sharedmem")
    return min(backend.effective_n_jobs(default if n_jobs is None else n_jobs), cpu_count())
