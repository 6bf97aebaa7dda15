"""Files of a work folder: whole or not at all, locked by who uses them, swept, never another's."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ddlcn.errors import DDLCNError
from ddlcn.execution.storage import LocalFolder

MARKER = "ddlcn-work-folder.txt"
HOLD = """
import sys
from ddlcn.execution.storage import LocalFolder
with LocalFolder(sys.argv[1]).in_use():
    print("ready", flush=True)
    input()
"""


def files(folder):
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


@pytest.fixture
def other_process(work):
    """Another process that uses the folder, until it is killed."""
    with subprocess.Popen([sys.executable, "-c", HOLD, work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        yield process
        process.kill()


def test_foreign_folder(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    problem = r"is no work folder of ddlcn but holds 'thesis\.txt'"
    with pytest.raises(DDLCNError, match=problem), LocalFolder(tmp_path).in_use():
        pass
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_last_user_removes(work):
    first, second = LocalFolder(work), LocalFolder(work)
    with first.in_use():
        with second.in_use():
            second.write("a.safetensors", b"")
            second.remove()
        assert first.has("a.safetensors")
        first.remove()
    assert not work.exists()
    with first.in_use():  # and again
        (work / "notes.txt").write_text("mine")
        first.remove()
    assert os.listdir(work) == ["notes.txt"]


def test_folder_in_use_by_another_process(work, other_process):
    folder = LocalFolder(work)
    (job,) = (name.removesuffix(".lock") for name in os.listdir(work) if name.endswith(".lock") and name != "gate.lock")
    left = f".a.safetensors.0.{job}.tmp"
    (work / left).write_bytes(b"half")
    with folder.in_use():
        folder.remove()
        assert files(work) == [left, MARKER]
    other_process.kill()
    other_process.wait()
    with folder.in_use():
        assert files(work) == [MARKER]
        folder.remove()
    assert not work.exists()


def test_removed_while_another_opens(work):
    """Many users come and go; each finds the folder whole, and the last leaves nothing."""

    def use(_):
        folder = LocalFolder(work)
        with folder.in_use():
            folder.write("a.safetensors", b"a")
            assert folder.has("a.safetensors")
            folder.remove()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(40)))
    assert not work.exists()
