"""Ctrl-C, also at moments that can't be aimed at from outside."""

import ctypes
import os
import pty
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ddlcn.cli.interrupts import START_OVER, interruptible
from ddlcn.errors import DDLCNError
from tests.cli.conftest import start

COMPILER = RuntimeError("no compiled object yet")


@ctypes.CFUNCTYPE(None)
def interrupted() -> None:
    raise KeyboardInterrupt


@ctypes.CFUNCTYPE(None)
def broken() -> None:
    raise ValueError


def fail_after(callback: Callable[[], None], error: BaseException = COMPILER) -> None:
    """As the compiler does after Python ignored what a callback of it raised."""
    with interruptible():
        callback()
        raise error


def test_terminal(tmp_path: Path) -> None:
    """The progress bars go and one line stays."""
    screen, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with start("demo", "-o", tmp_path / "m.ddlcn", stderr=terminal, env=environment) as process:
        os.close(terminal)
        seen = b""
        while b"Dictionaries" not in seen:
            seen += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        try:
            while True:
                seen += os.read(screen, 4096)
        except OSError:  # on Linux, the end of a terminal
            os.close(screen)
        assert process.stdout
        assert process.stdout.read() == ""
    assert process.returncode == 130
    assert b"Traceback" not in seen
    assert seen.rstrip().endswith(f"ddlcn: interrupted; {START_OVER}".encode())
    assert not any(tmp_path.iterdir())


def test_failure_after_ignored_interrupt(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DDLCNError) as told:
        fail_after(interrupted)
    assert str(told.value) == f"interrupted; {START_OVER}"
    assert capfd.readouterr().err == ""


def test_other_failures_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[type] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: ignored.append(lost.exc_type))
    before = sys.unraisablehook
    with pytest.raises(RuntimeError, match="no compiled object yet"):
        fail_after(broken)
    assert ignored == [ValueError]
    assert sys.unraisablehook is before


@pytest.mark.parametrize("error", [DDLCNError("cat/3.png is damaged"), OSError(28, "full"), MemoryError("all")])
def test_explained_failures_are_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as told:
        fail_after(interrupted, error)
    assert told.value is error
