"""Progress: told to whoever listens, shown as bars."""

import builtins
import re
import sys
from types import ModuleType

import pytest

from ddlcn.execution.progress import listen, progress_bars, track
from tests.helpers import run_python


def test_listeners_are_told_of_each_step():
    told, inner = [], []
    with listen(lambda *each: told.append(each)):
        assert list(track("a", "xy", total=2)) == ["x", "y"]
        with listen(lambda *each: inner.append(each)):
            list(track("b", "x", total=1))
        with pytest.raises(ZeroDivisionError):
            list(track("c", (1 / n for n in (1, 0)), total=2))
    assert list(track("d", "x", total=1)) == ["x"]
    assert told == [("a", 0, 2), ("a", 1, 2), ("a", 2, 2), ("c", 0, 2), ("c", 1, 2)]
    assert inner == [("b", 0, 1), ("b", 1, 1)]


@pytest.mark.parametrize(("terminal", "wanted", "shown"), [("1", True, True), ("1", False, False), ("0", True, False)])
def test_bars_on_terminals(monkeypatch, capsys, terminal, wanted, shown):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(wanted) as tell:
        tell("[red]Stage", 0, 2)
        tell("[red]Stage", 2, 2)
    found = capsys.readouterr()
    assert ("[red]Stage" in found.err) == shown
    assert found.out == ""


def test_never_backwards(monkeypatch, capsys):
    """A stage that starts again gets a new bar."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with progress_bars() as tell:
        for done in (0, 1, 2, 0, 1):
            tell("Stage", done, 2)
    last = capsys.readouterr().err.split("Stage")[-1]
    assert last.startswith(" (2)")
    assert "50%" in last


class Cell:
    """What a notebook's cell has shown."""

    def __init__(self):
        self.shown = []

    def update(self, content):
        self.shown.append(content)


@pytest.fixture
def cell(monkeypatch):
    """A notebook, as far as bars see one."""
    cell, display = Cell(), ModuleType("IPython.display")
    display.HTML, display.display = str, lambda content, display_id: cell
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(builtins, "get_ipython", type("ZMQInteractiveShell", (), {}), raising=False)
    return cell


def test_bars_in_a_notebook(cell):
    with progress_bars() as tell:
        for done in (0, 1, 2, 0, 2):
            tell("<b>Stage", done, 2)
        tell("Other", 1, 1)
    *_, last, end = cell.shown
    assert "&lt;b&gt;Stage (2) 2 of 2" in last
    assert "Other 1 of 1" in last
    assert end == ""
    for shown in cell.shown:
        assert all(int(done) <= int(total) for done, total in re.findall(r'value="(\d+)" max="(\d+)"', shown))
    with progress_bars(wanted=False) as tell:
        tell("Stage", 1, 2)
    assert cell.shown[-1] == ""


NOTE = """if True:
    import numpy as np
    from ddlcn.execution.progress import note_compilation
    from ddlcn.kernels.locality import pairwise_distances
    note_compilation()
    note_compilation()
    pairwise_distances(np.zeros((2, 3), np.float32))
"""


def test_note_of_compilation(tmp_path):
    """Once, in the first run only."""
    run = f"import contextlib, sys\nwith contextlib.redirect_stderr(sys.stdout):\n    exec({NOTE!r})"
    first, second = (run_python(run, NUMBA_CACHE_DIR=str(tmp_path), TTY_COMPATIBLE="1") for _ in range(2))
    assert (first.count("Compiling kernels, once"), second) == (1, "")
    assert run_python(run, NUMBA_CACHE_DIR=str(tmp_path / "other"), TTY_COMPATIBLE="0") == ""
