"""Ctrl-C at moments that can't be aimed at from outside."""

import ctypes
import sys
from collections.abc import Callable

import pytest

from ddlcn.cli.interrupts import START_OVER, interruptible
from ddlcn.errors import DDLCNError


@ctypes.CFUNCTYPE(None)
def interrupted() -> None:
    raise KeyboardInterrupt


@ctypes.CFUNCTYPE(None)
def broken() -> None:
    raise ValueError


COMPILER = RuntimeError("no compiled object yet")


def fail_after(callback: Callable[[], None], error: BaseException = COMPILER) -> None:
    """As the compiler does, when Python ignored what a callback of it raised."""
    with interruptible():
        callback()
        raise error


def test_ctrl_c_is_an_error_that_says_what_is_kept() -> None:
    with pytest.raises(DDLCNError) as told, interruptible(lambda: "two rows are kept"):
        raise KeyboardInterrupt
    assert str(told.value) == "interrupted; two rows are kept"


def test_what_fails_by_an_ignored_one_is_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DDLCNError) as told:
        fail_after(interrupted)
    assert str(told.value) == f"interrupted; {START_OVER}"
    assert capfd.readouterr().err == ""


def test_other_failures_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[type] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: ignored.append(lost.exc_type))
    before = sys.unraisablehook
    with pytest.raises(RuntimeError, match="no compiled object yet"):
        fail_after(broken)
    assert ignored == [ValueError]
    assert sys.unraisablehook is before


@pytest.mark.parametrize(
    "error", [DDLCNError("cat/3.png is damaged"), OSError(28, "full"), MemoryError("all")]
)
def test_what_has_a_cause_of_its_own_keeps_it(error: Exception) -> None:
    with pytest.raises(type(error)) as told:
        fail_after(interrupted, error)
    assert told.value is error


def test_the_innermost_says_what_is_kept() -> None:
    def interrupted_twice() -> None:
        interrupted()
        with interruptible(lambda: "two rows are kept"):
            raise KeyboardInterrupt

    with pytest.raises(DDLCNError, match="two rows are kept"):
        fail_after(interrupted_twice)


def test_an_ignored_one_that_harmed_nothing_is_forgotten() -> None:
    with interruptible():
        interrupted()
