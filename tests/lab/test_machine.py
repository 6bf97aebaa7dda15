"""Facts about the machine."""

import sys

from ddlcn_lab import machine


def test_without_posix_modules(monkeypatch):
    assert machine.peak_memory_mb() > 10
    monkeypatch.setitem(sys.modules, "resource", None)
    assert machine.peak_memory_mb() is None
