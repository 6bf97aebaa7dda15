"""Progress: told to whoever listens, shown as bars."""

import pytest

from ddlcn.execution.progress import listen, progress_bars, track


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
