"""Atomic writes: the new file whole, or the old one, and nothing beside it."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from ddlcn import DDLCNError
from ddlcn.persistence.atomic import check_writable, write_atomically


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "report[1].html"
    path.write_bytes(b"old")
    return path


def only_file(path):
    return [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"new file", [b"new", b" ", b"file"], iter([b"new file"])])
def test_content(path, content):
    write_atomically(path, content)
    assert path.read_bytes() == b"new file"
    assert only_file(path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        write_atomically(path, b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="folders can't be opened")
def test_forced_to_the_disk_in_order(path, monkeypatch):
    steps, replace = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda file: steps.append(stat.S_IFMT(os.fstat(file).st_mode)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("renamed"), replace(*names)))
    write_atomically(path, b"new")
    assert steps == [stat.S_IFREG, "renamed", stat.S_IFDIR]


@pytest.mark.parametrize(
    ("place", "problem"), [("no/file", "make its folder first"), (".", "a folder"), (os.devnull, "no regular file")]
)
def test_unwritable_places(tmp_path, place, problem):
    with pytest.raises(DDLCNError, match=problem):
        check_writable(tmp_path / place)
    with pytest.raises(DDLCNError, match=problem):
        write_atomically(tmp_path / place, b"")


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError(28, "No space left"), r"No space left.*free some space"), (KeyboardInterrupt("Ctrl-C"), "Ctrl-C")],
)
def test_failed_write(path, error, told):
    def content():
        yield b"half"
        raise error

    with pytest.raises((DDLCNError, KeyboardInterrupt), match=told):
        write_atomically(path, content())
    assert path.read_bytes() == b"old"
    assert only_file(path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_write_is_swept(path):
    kill = "import os, sys; from ddlcn.persistence.atomic import write_atomically as write; "
    kill += "os.replace = lambda *_: os.kill(os.getpid(), 9); write(sys.argv[1], b'new')"
    assert subprocess.run([sys.executable, "-c", kill, path], check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert not only_file(path)
    write_atomically(path.with_name("other"), b"")  # leaves what is not its own
    path.with_name("other").unlink()
    assert not only_file(path)
    write_atomically(path, b"new")
    assert only_file(path)


def test_write_in_progress_is_not_swept(path):
    def content():
        yield b"outer"
        write_atomically(path, b"inner")
        assert path.read_bytes() == b"inner"
        yield b" file"

    write_atomically(path, content())
    assert path.read_bytes() == b"outer file"
    assert only_file(path)


def test_long_name(tmp_path):
    path = tmp_path / ("ü" * 120)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
