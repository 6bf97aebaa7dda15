"""What is installed is pinned, under licences that fit ours, and nothing of it calls home."""

import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import licences

ROOT = Path(__file__).parents[1]
EXTRAS = ("", "serve", "cluster", "bench", "test", "dev", "docs")


def test_every_requirement_is_pinned_to_a_version_that_it_admits():
    pins = licences.pinned()
    for need in map(Requirement, requires("ddlcn")):
        if need.name != "ddlcn" and any(
            need.marker is None or need.marker.evaluate({"extra": e}) for e in EXTRAS
        ):
            assert canonicalize_name(need.name) in pins, f"{need.name} is not pinned; run bash .ci/lock"
            for pin in pins[canonicalize_name(need.name)]:
                (version,) = pin.specifier
                assert need.specifier.contains(version.version, prereleases=True), f"{pin} against {need}"


def test_pins_name_versions_and_no_place_to_get_them_from():
    for name, pins in licences.pinned().items():
        for pin in pins:
            assert [clause.operator for clause in pin.specifier] == ["=="], name
            assert pin.url is None
    assert not re.search(r"://|index|--|@", licences.PINS.read_text())


def test_ci_installs_what_is_pinned():
    assert "pip install --quiet -c constraints.txt" in (ROOT / ".ci" / "run").read_text()


def test_every_licence_is_listed_and_compatible():
    page, parts = licences.listed(), licences.parts()
    assert set(page) == set(parts), "run bash .ci/lock"
    checked = 0
    for name, (expression, part) in page.items():
        assert licences.allowed(name, expression, part), f"{name} is under {expression}: {part}"
        here = licences.licence(name)
        if here is None:  # of other systems, or of the docs
            continue
        assert licences.allowed(name, here, parts[name]), f"{name} is under {here}: {parts[name]}"
        checked += 1
    assert checked > 60


def test_a_strange_licence_is_noticed(monkeypatch):
    monkeypatch.setattr(licences, "licence", lambda name: "GPL-3.0-only" if name == "numpy" else "MIT")
    with pytest.raises(AssertionError, match="numpy is under GPL"):
        test_every_licence_is_listed_and_compatible()


OFFLINE = """
import socket, sys

def refuse(self, address, *rest):
    host = address[0] if isinstance(address, tuple) else "127.0.0.1"  # a path is a socket of this machine
    if host not in ("127.0.0.1", "::1", "localhost"):
        print("CALLED", address, flush=True)
        raise OSError(f"connects to {address}")
    return connect(self, address, *rest)

def lookup(host, *rest, **more):
    if host not in (None, "", "127.0.0.1", "::1", "localhost"):
        print("CALLED", host, flush=True)
        raise OSError(f"looks up {host}")
    return getaddrinfo(host, *rest, **more)

connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo
socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo, socket.gethostbyname = lookup, lookup
sys.addaudithook(
    lambda event, args: event in ("socket.getaddrinfo", "urllib.Request") and lookup(str(args[0] or ""))
)
"""
COMMANDS = """
import ddlcn.report, ddlcn.serve
from ddlcn.cli import main

for command in (
    "demo -o m.ddlcn --report report",
    "info m.ddlcn --json",
    "atoms m.ddlcn -o atoms.png",
    "bench digits --pq 1-1 --splits 1 --out run",
    "bench-report run",
):
    try:
        main(command.split())
    except SystemExit as end:
        assert not end.code, command
"""


def offline(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"MPLCONFIGDIR": str(folder), "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-c", OFFLINE + code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_nothing_calls_home(tmp_path):
    ran = offline(COMMANDS, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "CALLED" not in ran.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {"m.ddlcn", "report", "atoms.png", "run"}


@pytest.mark.parametrize(
    "call",
    [
        "import urllib.request as u; u.urlopen('http://192.0.2.1/', timeout=3)",
        "socket.create_connection(('a.invalid', 80))",
    ],
)
def test_a_call_home_would_be_noticed(tmp_path, call):
    ran = offline(call, tmp_path)
    assert ran.returncode
    assert "CALLED" in ran.stdout
