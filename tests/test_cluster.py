"""Training on a Dask cluster of separate processes: the answer is that of one machine, whoever dies."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, ImageError, cluster, store
from ddlcn.layers import descent

distributed = pytest.importorskip("distributed")
SMALL = {"atoms_per_class": 3, "deeper_atoms": (8,), "preset": "paper"}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Paths and labels of 160 digits."""
    folder, data = tmp_path_factory.mktemp("digits"), load_digits()
    rows = np.concatenate([np.flatnonzero(data.target == c)[:40] for c in range(4)])
    for row in rows:
        Image.fromarray((data.images[row] * 15).astype(np.uint8)).save(folder / f"{row}.png")
    return [str(folder / f"{row}.png") for row in rows], data.target[rows]


@pytest.fixture(scope="module")
def alone(digits):
    """The model of one machine, without a store; made before any client."""
    return DDLCNClassifier(**SMALL).fit(*digits)


@pytest.fixture(scope="module")
def workers():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        yield local


@pytest.fixture
def client(alone, workers):
    with distributed.Client(workers) as client:
        yield client


def check_same(model, alone):
    for ours, truth in zip(model.network_.dictionaries, alone.network_.dictionaries, strict=True):
        assert_array_equal(ours, truth)
    assert_array_equal(model.svm_.coef_, alone.svm_.coef_)
    assert_array_equal(model.svm_.intercept_, alone.svm_.intercept_)
    assert (model.svm_.C_, model.svm_.scale_) == (alone.svm_.C_, alone.svm_.scale_)


def die_first(marker):
    """Kill this process, unless another has died of the same marker."""
    with suppress(FileExistsError), open(marker, "x") as file:
        file.write(str(os.getpid()))
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


class FatalSIFT(DenseSIFT):
    """Kills the first process that has described `images` images."""

    seen = 0

    def __init__(self, marker="", images=0):
        super().__init__()
        self.marker, self.images = marker, images

    def transform(self, image, value_range=(0.0, 1.0)):
        FatalSIFT.seen += 1
        if FatalSIFT.seen > self.images:
            die_first(self.marker)
        return super().transform(image, value_range)


def test_same_answer_as_one_machine_and_only_names_are_sent(client, digits, alone, tmp_path, monkeypatch):
    sent, submit = [], client.submit
    monkeypatch.setattr(client, "submit", lambda *a, **k: sent.append(pickle.dumps(a)) or submit(*a, **k))
    check_same(DDLCNClassifier(**SMALL, store=tmp_path / "store").fit(*digits), alone)
    assert len(sent) >= 4 + 5  # classes, and batches of images
    assert any(os.path.basename(digits[0][0]).encode() in message for message in sent)
    assert max(map(len, sent)) < 20_000


def test_pixels_of_arrays_go_by_the_store(client, digits, tmp_path, monkeypatch):
    images = np.stack([np.asarray(Image.open(path).resize((32, 32))) for path in digits[0]])
    sent, submit = [], client.submit
    monkeypatch.setattr(client, "submit", lambda *a, **k: sent.append(pickle.dumps(a)) or submit(*a, **k))
    monkeypatch.setattr(cluster, "_LARGEST_SENT", 1000)
    model = DDLCNClassifier(**SMALL, store=tmp_path / "store").fit(images, digits[1])
    assert model.score(images, digits[1]) > 0.95
    assert max(map(len, sent)) < 5000 < images[:32].nbytes


@pytest.mark.parametrize("images", [5, 70])  # in the midst of dictionaries, and of coding
def test_a_worker_is_killed_midway(client, digits, alone, tmp_path, images):
    before, marker = set(client.run(os.getpid).values()), tmp_path / "marker"
    fatal = FatalSIFT(str(marker), images)
    check_same(DDLCNClassifier(**SMALL, descriptor=fatal, store=tmp_path / "store").fit(*digits), alone)
    assert int(marker.read_text()) in before
    client.wait_for_workers(2, timeout=30)


def make_svm_fatal(marker):
    """In a worker: it dies when it is about to train classes."""
    whole = descent._Descent.__init__

    def fatal(*args):
        whole(*args)
        die_first(marker)

    descent._Descent.__init__ = fatal


@pytest.fixture
def fatal_svm(client, tmp_path):
    client.run(make_svm_fatal, str(tmp_path / "marker"))
    yield tmp_path / "marker"
    client.restart()


def test_a_worker_is_killed_in_the_svm(client, digits, alone, tmp_path, fatal_svm):
    before = set(client.run(os.getpid).values())
    check_same(DDLCNClassifier(**SMALL, store=tmp_path / "store").fit(*digits), alone)
    assert int(fatal_svm.read_text()) in before


def test_a_store_is_asked_for(client, digits, alone, tmp_path, monkeypatch):
    with pytest.raises(DDLCNError, match="set store="):
        DDLCNClassifier(**SMALL).fit(*digits)
    monkeypatch.setattr(cluster, "_PATIENCE", 0.3)
    with pytest.raises(DDLCNError, match="all workers share"):
        DDLCNClassifier(**SMALL, store="memory://store").fit(*digits)
    assert_array_equal(alone.predict(digits[0][:5]), digits[1][:5])  # needs none


def test_any_fsspec_path(client, digits, alone, tmp_path):
    check_same(DDLCNClassifier(**SMALL, store=f"file://{tmp_path}/store").fit(*digits), alone)
    assert {name.split("-")[0] for name in os.listdir(tmp_path / "store")} >= {"dictionary", "rows", "array"}


def test_another_version_is_refused(client, digits, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "code", lambda: "of another time")
    with pytest.raises(DDLCNError, match="install the same"):
        DDLCNClassifier(**SMALL, store=tmp_path / "store").fit(*digits)


def test_broken_images_are_named(client, digits, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    with pytest.raises(ImageError, match=r"broken\.png"):
        DDLCNClassifier(**SMALL, store=tmp_path / "store").fit([*digits[0], broken], [*digits[1], 0])


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_backends_of_joblib(alone, digits, backend, request):
    if backend == "dask":
        request.getfixturevalue("client")
    with parallel_config(backend, n_jobs=2):
        check_same(DDLCNClassifier(**SMALL).fit(*digits), alone)


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr(cluster, "_GREETING", 0.3)
    with pytest.raises(DDLCNError, match="no Dask scheduler at"), cluster.connect("tcp://127.0.0.1:9"):
        pass


def test_workers_on_two_hosts(digits, alone, tmp_path):
    """Two network namespaces stand for two machines that share a file system."""
    ip = shutil.which("ip")
    if (
        not ip
        or os.geteuid()
        or subprocess.run([ip, "netns", "add", "ddlcn-try"], capture_output=True).returncode
    ):
        pytest.skip("needs `ip netns`, and root, to make network namespaces")
    subprocess.run([ip, "netns", "del", "ddlcn-try"], check=True)
    with ExitStack() as stack:
        hosts = [_host(stack, ip, number) for number in (1, 2)]
        local = stack.enter_context(
            distributed.LocalCluster(n_workers=0, host="10.213.1.1", dashboard_address=":0", silence_logs=50)
        )
        for host in hosts:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", local.scheduler_address]
            process = subprocess.Popen(
                [ip, "netns", "exec", host, *command, "--no-dashboard", "--nthreads", "1"],
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)
        client = stack.enter_context(distributed.Client(local))
        client.wait_for_workers(2, timeout=60)
        addresses = {address.split(":")[1] for address in client.scheduler_info()["workers"]}
        assert addresses == {"//10.213.1.2", "//10.213.2.2"}
        check_same(DDLCNClassifier(**SMALL, store=tmp_path / "store").fit(*digits), alone)


def _host(stack, ip, number):
    """A network namespace with a cable to this one."""
    host, here, there = f"ddlcn{number}", f"ddlcn{number}a", f"ddlcn{number}b"

    def run(*command):
        subprocess.run([ip, *command], check=True)

    run("netns", "add", host)
    stack.callback(run, "netns", "del", host)
    run("link", "add", here, "type", "veth", "peer", "name", there, "netns", host)
    run("addr", "add", f"10.213.{number}.1/24", "dev", here)
    run("link", "set", here, "up")
    run("-n", host, "addr", "add", f"10.213.{number}.2/24", "dev", there)
    run("-n", host, "link", "set", there, "up")
    run("-n", host, "link", "set", "lo", "up")
    run("-n", host, "route", "add", "default", "via", f"10.213.{number}.1")
    return host
