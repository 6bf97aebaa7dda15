"""Tasks on a Dask cluster of separate processes: the results of one machine, even if workers are lost."""

import os
import pickle
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from ddlcn.errors import DDLCNError
from ddlcn.execution import dask, keys, session
from ddlcn.execution.cache import WorkFolder
from ddlcn.layers.sift import DenseSIFT
from ddlcn.learning import encode_images
from tests.execution.tasks import Atoms, check_rows, die, fail, logged_rows, rows, scaled, total
from tests.helpers import assert_same_model, quick_channels, quick_model

distributed = pytest.importorskip("distributed")
CALLS = [(seed,) for seed in range(6)]


@pytest.fixture(scope="module")
def cluster():
    import dask as library

    with library.config.set({"distributed.scheduler.allowed-failures": 1}):
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster:
        yield cluster


@pytest.fixture(scope="module")
def whole(digits):
    """A model that was trained without a cluster."""
    return quick_model().fit(*digits)


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        yield client


@pytest.fixture
def sent(client, monkeypatch):
    """Sizes of the messages to the scheduler."""
    sizes, submit = [], client.submit
    monkeypatch.setattr(client, "submit", lambda *a, **k: sizes.append(len(pickle.dumps(a))) or submit(*a, **k))
    return sizes


def run_rows(work, calls=CALLS, function=rows):
    with session(work) as run:
        return list(run.map("rows", function, calls, "Rows"))


@pytest.mark.parametrize("address", ["{}/work", "file://{}/work"])
def test_same_results_as_on_one_machine(client, tmp_path, address):
    log = tmp_path / "log"
    for _ in range(2):
        check_rows(run_rows(address.format(tmp_path), [(seed, str(log)) for seed in range(6)], logged_rows))
    assert len(log.read_text().split()) == 6


def test_objects_are_loaded_once_per_worker(client, sent, tmp_path):
    log = tmp_path / "log"
    atoms = Atoms(np.arange(100_000.0), {"scale": 2}, str(log))
    with session(tmp_path / "work") as run:
        found = list(run.map("scaled", scaled, [(atoms, number) for number in range(8)], "Scaling"))
    assert_array_equal(found, [2.0 * number * atoms.atoms for number in range(8)])
    here, *workers = log.read_text().split()
    assert int(here) == os.getpid()
    assert len(workers) == len(set(workers)) <= 2
    assert max(sent) < 5000


class OwnSIFT(DenseSIFT):
    """A descriptor of a user."""


def test_new_worker_knows_the_parts_of_an_encoder(client, digits, tmp_path):
    """It has imported nothing: it is there for the first time, or again."""
    images, _ = digits
    channels = quick_channels("paper", sift__descriptor=OwnSIFT(min_side=40))
    with session(tmp_path / "work") as run:
        encoder = quick_model(channels=channels, work_folder=tmp_path / "model").fit(*digits).encoder_
        client.restart()
        (found,) = run.map("features", encode_images, [(encoder, images[:3], ())], "Encoding")
    assert_array_equal(found.toarray(), encoder.transform(images[:3]).toarray())


def test_large_arguments_go_by_name(client, sent, tmp_path):
    large, images = np.ones(50_000), [np.full((40, 40), i, np.float32) for i in range(20)]
    calls = [(large, images), (tuple(images),), ([large, images[1]],), (images[:2],), ({"a": images[3]},)]
    with session(tmp_path / "work") as run:
        found = list(run.map("total", total, calls, "Sums"))
    assert_array_equal(found, [total(*call) for call in calls])
    assert max(sent) < 20_000


def test_lost_worker(client, tmp_path):
    before, marker = set(client.run(os.getpid).values()), tmp_path / "marker"
    check_rows(run_rows(tmp_path / "work", [(seed, str(marker)) for seed in range(6)], die))
    assert int(marker.read_text()) in before


@contextmanager
def supervised(address, n_workers):
    """Processes of `dask worker` that are started again when they end, as on a cluster that somebody operates.

    A LocalCluster does not do: a worker that is away 15 seconds after a loss, even a later one, is not started again.
    """
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    workers, stop = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(n_workers)], Event()

    def supervise():
        while not stop.wait(0.1):
            for place, worker in enumerate(workers):
                if worker.poll() is not None:
                    workers[place] = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    with ThreadPoolExecutor(1) as pool:
        supervision = pool.submit(supervise)
        try:
            yield workers
        finally:
            stop.set()
            supervision.result()
            for worker in workers:
                worker.kill()
                worker.wait()


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.long)])
def test_workers_killed_during_a_training(whole, digits, tmp_path, kills):
    """No training fails, even if all workers are lost for some seconds, and the model is the same."""
    rng, killed, trainings = random.Random(kills), 0, 0
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        supervised(cluster.scheduler_address, 2) as workers,
        ThreadPoolExecutor(1) as pool,
    ):
        while killed < kills:
            client.wait_for_workers(2, timeout=120)
            trainings += 1
            work, wanted = tmp_path / str(trainings), rng.randint(1, 15)
            training = pool.submit(quick_model(work_folder=work).fit, *digits)
            while not training.done() and len(list(work.glob("*.safetensors"))) < wanted:
                time.sleep(0.002)
            for worker in rng.sample(workers, rng.choice((1, 1, 2))):
                killed += not training.done()
                worker.kill()
            assert_same_model(training.result(), whole)
    print(f"{killed} workers killed in {trainings} trainings")


def test_last_worker_leaves(tmp_path):
    """Without any worker, a training ends with an error."""
    calls, folder = {f"rows-{wait}": (1, str(tmp_path / "log"), wait) for wait in (0, 3)}, WorkFolder(tmp_path / "work")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        folder.in_use(),
    ):
        tasks = dask.compute(client, folder, logged_rows, calls, {}, patience=0.5)
        assert next(tasks) == "rows-0"
        cluster.scale(0)
        with pytest.raises(DDLCNError, match=r"has no worker or no scheduler.*run the same command again"):
            next(tasks)


def test_all_workers_lost(client, tmp_path):
    with pytest.raises(DDLCNError, match=r"lost its workers: give them more memory.*run the same command again"):
        run_rows(tmp_path / "work", CALLS[:1], die)


def test_damaged_entry_is_computed_again(client, tmp_path):
    run_rows(tmp_path / "work")
    next((tmp_path / "work").glob("rows-*")).write_bytes(b"nonsense")
    with pytest.warns(UserWarning, match="computed again"):
        check_rows(run_rows(tmp_path / "work"))


def test_failed_task(client, tmp_path):
    with pytest.raises(DDLCNError, match="mistake"):
        run_rows(tmp_path / "work", [("mistake",)], fail)


def test_interrupted_session_cancels_tasks(client, tmp_path):
    with pytest.raises(KeyboardInterrupt), session(tmp_path / "work") as run:  # noqa: PT012
        next(run.map("rows", logged_rows, [(seed, str(tmp_path / "log"), 0.3) for seed in range(50)], "Rows"))
        raise KeyboardInterrupt
    assert not client.futures or all(future.status == "cancelled" for future in client.futures.values())
    check_rows(run_rows(tmp_path / "work"))
    assert len((tmp_path / "log").read_text().split()) < 10


def test_client_without_work_folder(client):
    with pytest.raises(DDLCNError, match="set work_folder= to a folder or address that its workers share"), session():
        pass
    with parallel_config("dask"):
        check_rows(run_rows(None))


def test_prediction_needs_no_work_folder(client, digits, tmp_path):
    model = quick_model(work_folder=tmp_path).fit(*digits)
    assert len(model.predict(digits[0][:2])) == 2


def test_folder_that_workers_do_not_share(client):
    folder = WorkFolder("memory://not-shared")
    with pytest.raises(DDLCNError, match="this machine and all workers share"):
        list(dask.compute(client, folder, rows, {"rows-1": (1,)}, {}, patience=0.3))


def set_version(version=None):
    """In a worker: have another version, or the true one."""
    dask.environment = (lambda: version) if version else keys.environment


def test_other_version_on_a_worker(client, tmp_path):
    client.run(set_version, "another")
    try:
        with pytest.raises(DDLCNError, match="another version of ddlcn"):
            run_rows(tmp_path / "work")
    finally:
        client.run(set_version)


def test_no_worker(tmp_path):
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty, distributed.Client(empty) as client:
        tasks = dask.compute(client, WorkFolder(tmp_path), rows, {"rows-1": (1,)}, {}, patience=0.3)
        with pytest.raises(DDLCNError, match="has no worker or no scheduler"):
            list(tasks)


def test_connect(cluster, tmp_path):
    with dask.connect(cluster.scheduler_address) as client:
        assert dask.active_client() is client
        check_rows(run_rows(tmp_path / "work"))
    assert dask.active_client() is None
    with pytest.raises(DDLCNError, match="no Dask scheduler at"), dask.connect("tcp://127.0.0.1:9", timeout=0.3):
        pass
