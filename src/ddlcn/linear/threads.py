"""Short calls on threads. joblib looks only every 10 ms whether a thread is done, which is longer than these take."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joblib import cpu_count, effective_n_jobs


def map_threads(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None = None) -> list[Any]:
    """Results of ``function(*call)`` for each call, in order.

    Parameters
    ----------
    function : callable
    calls : iterable of tuple
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
    calls, n_threads = list(calls), min(effective_n_jobs(n_jobs), cpu_count())
    if min(n_threads, len(calls)) < 2:
        return [function(*call) for call in calls]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda call: function(*call), calls))
