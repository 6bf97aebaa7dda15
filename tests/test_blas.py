"""BLAS has one thread inside a block, and what it had before after it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ddlcn.blas import one_blas_thread
from ddlcn.execution import session


def threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(params=[2, 3], autouse=True)
def before(request):
    with threadpool_limits(request.param, user_api="blas"):
        yield {request.param}


def test_nested_blocks(before):
    """Also if others change the number inside of one, and after an error."""
    with one_blas_thread():
        threadpool_limits(4, user_api="blas")
        with pytest.raises(KeyError, match="True"), one_blas_thread():
            raise KeyError(threads() == {1})
    assert threads() == before


def test_blocks_of_many_threads_overlap(before):
    """The first to enter remembers, the last to leave restores."""
    together = Barrier(8)

    def work(_):
        with one_blas_thread():
            together.wait()
            return threads()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(80))) == [{1}] * 80
    assert threads() == before
    with session(n_jobs=2) as run:  # tasks are such blocks
        assert list(run.map("threads", threads, [()] * 4, "")) == [{1}] * 4
    assert threads() == before
