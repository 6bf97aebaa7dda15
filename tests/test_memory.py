"""One heap for all threads of a command."""

import platform
import subprocess
import sys

import pytest

from ddlcn import memory

# threads that each leave a block behind hold a heap each, of which malloc_info tells
HEAPS = """
import sys, threading
if sys.argv[1] == "command":
    from ddlcn.cli import main
    try:
        main(["--help"])
    except SystemExit:
        sys.stdout.flush()
kept, ready = [], threading.Barrier(9)
def work():
    kept.append(bytearray(100_000))
    ready.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
ready.wait()
import ctypes
libc = ctypes.CDLL(None)
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fdopen.restype = ctypes.c_void_p
libc.fflush.argtypes = [ctypes.c_void_p]
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc to count its heaps")
@pytest.mark.parametrize(("how", "least", "most"), [("command", 1, 1), ("library", 2, 100)])
def test_threads_share_a_heap(monkeypatch, how, least, most):
    for name in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    told = subprocess.run([sys.executable, "-c", HEAPS, how], capture_output=True, text=True, check=True)
    assert least <= told.stdout.count("<heap nr=") <= most


def test_what_the_user_says_is_heeded_and_another_allocator_is_no_error(monkeypatch):
    class Libc:
        def mallopt(self, *given):
            asked.append(given)

    asked: list = []
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: Libc())
    for name in ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    for name, value, heap in (
        ("MALLOC_ARENA_MAX", "4", (-3, 1 << 20)),
        ("GLIBC_TUNABLES", "glibc.malloc.arena_max=4", (-3, 1 << 20)),
        ("MALLOC_MMAP_THRESHOLD_", "4", (-8, 1)),
        ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=4", (-8, 1)),
    ):
        with monkeypatch.context() as said:
            said.setenv(name, value)
            memory.one_heap()
        assert asked == [heap]
        asked.clear()
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
    memory.one_heap()
    assert asked == [(-8, 1), (-3, 1 << 20)]
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    memory.one_heap()
