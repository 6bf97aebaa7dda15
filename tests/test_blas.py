"""BLAS has one thread inside a block, and what it had before after it."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info, threadpool_limits

from ddlcn.blas import one_blas_thread
from ddlcn.execution import session
from tests.helpers import assert_same_model, quick_model, run_python


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


def test_same_model_from_another_thread():
    """After the main thread has computed something."""
    digits = load_digits()
    images, labels = digits.images[:100], digits.target[:100]
    first = quick_model(n_jobs=1).fit(images, labels)
    scores = first.decision_function(digits.images)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(quick_model(n_jobs=1).fit, images, labels).result()
        assert_same_model(second, first)
        assert_array_equal(pool.submit(second.decision_function, digits.images).result(), scores)


@pytest.mark.parametrize("method", ["decision_function", "assess"])
def test_interrupt_between_parts(before, method, monkeypatch):
    """Also while the exception, and with it every local variable of the calls, is still there."""
    digits = load_digits()
    model = quick_model().fit(digits.images[:100], digits.target[:100])

    def interrupted(rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(model.svm_, "scores", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        getattr(model, method)(digits.images[:40])
    assert caught.tb is not None
    assert threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_while_other_threads_are_inside():
    """Neither process hangs, and blocks of threads that the child does not have are left in it."""
    script = """if True:
        import os, signal, threading, warnings
        import numpy as np
        from threadpoolctl import threadpool_info, threadpool_limits
        from ddlcn.blas import one_blas_thread

        warnings.simplefilter("ignore")  # Python warns of any fork beside threads
        threadpool_limits(2, user_api="blas")
        matrix, stop = np.ones((200, 200)), threading.Event()

        def threads():
            return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

        def work():
            while not stop.is_set():
                with one_blas_thread():
                    matrix @ matrix

        def child():
            signal.alarm(20)  # ends a child that hangs
            with one_blas_thread():
                matrix @ matrix
                inside = threads()
            os._exit(0 if (inside, threads()) == ({1}, {2}) else 1)

        signal.alarm(60)
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for _ in range(20):
            if (pid := os.fork()) == 0:
                child()
            assert os.waitpid(pid, 0)[1] == 0
        with one_blas_thread():  # the child leaves this one
            pid = os.fork()
        if pid == 0:
            child()
        assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for worker in workers:
            worker.join()
        assert threads() == {2}
    """
    run_python(script)
