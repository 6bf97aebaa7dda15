"""Calls on threads: order, exceptions, number of threads, Ctrl-C."""

import subprocess
import sys
import threading
import time
import warnings
from multiprocessing import get_context

import numpy as np
import pytest
from joblib import cpu_count, parallel_config

from ddlcn.linear.threads import map_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1, -2])
def test_results_in_order(n_jobs):
    calls = ((i,) for i in range(50))
    assert map_threads(lambda i: (time.sleep(0.001 * (i % 3)), i * i)[1], calls, n_jobs) == [i * i for i in range(50)]
    assert map_threads(len, [], n_jobs) == []


def test_invalid_number_of_threads():
    with pytest.raises(ValueError, match="n_jobs"):
        map_threads(len, [("a",)], 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_first_exception_is_raised(n_jobs):
    """And calls that wait are not made."""
    made = []

    def fail(i):
        made.append(i)
        time.sleep(0.01)
        if i == 3:
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        map_threads(fail, ((i,) for i in range(100)), n_jobs)
    time.sleep(0.05)
    assert len(made) < 10


def test_interrupt_does_not_wait():
    """Ctrl-C ends a process whose calls would take a minute, also where the parent ignores it."""
    code = """
import signal, threading, time
from ddlcn.linear.threads import map_threads
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
try:
    map_threads(time.sleep, [(60,)] * 4, 2)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "interrupted\n"


def test_number_of_threads_of_joblib():
    """That of `parallel_config` for threads, as `joblib.Parallel` with shared memory."""
    used = set()

    def note(_):
        used.add(threading.get_ident())
        time.sleep(0.01)

    map_threads(note, ((i,) for i in range(20)))
    assert used == {threading.get_ident()}
    used.clear()
    with parallel_config("threading", n_jobs=2):
        map_threads(note, ((i,) for i in range(20)))
    assert (threading.get_ident() in used) == (cpu_count() == 1)
    assert len(used) <= 2


def _in_a_worker(_):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return map_threads(np.sqrt, [(4.0,), (9.0,)], 2)


def test_in_a_daemonic_process():
    """As on a Dask worker, without warnings."""
    with get_context("spawn").Pool(1) as pool:
        assert pool.map(_in_a_worker, [0]) == [[2.0, 3.0]]
