"""What is installed is pinned, under compatible licences, and no command connects to the network."""

import json
import re
from importlib.metadata import requires, version
from runpy import run_path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers import ROOT, run_python

licences = SimpleNamespace(**run_path(str(ROOT / ".ci" / "licences.py")))
EXTRAS = ("", "serve", "cluster", "lab", "test", "dev", "docs")


def test_requirements_are_pinned():
    pins = licences.pinned()
    for need in map(Requirement, requires("ddlcn")):
        if need.name != "ddlcn" and any(need.marker is None or need.marker.evaluate({"extra": e}) for e in EXTRAS):
            assert canonicalize_name(need.name) in pins, f"{need.name} is not pinned; run bash .ci/lock"
            for pin in pins[canonicalize_name(need.name)]:
                (version,) = pin.specifier
                assert version.operator == "=="
                assert need.specifier.contains(version.version, prereleases=True), f"{pin} against {need}"
    assert not re.search(r"://|index|--|@", licences.PINS.read_text())  # no addresses


def test_bill_of_materials_has_all_pins():
    """The CycloneDX file names the same packages and versions as the pins, and no address."""
    text = (ROOT / "sbom.json").read_text()
    bom = json.loads(text)
    listed = {(canonicalize_name(each["name"]), each["version"]) for each in bom["components"]}
    pinned = {(name, next(iter(pin.specifier)).version) for name, pins in licences.pinned().items() for pin in pins}
    assert listed == pinned, "run bash .ci/lock"
    assert bom["metadata"]["component"]["version"] == version("ddlcn")
    assert set(re.findall("https?://[^/]+", text)) == {"http://cyclonedx.org"}  # its schema


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


def test_incompatible_licence_is_noticed(monkeypatch):
    monkeypatch.setattr(licences, "licence", lambda name: "GPL-3.0-only" if name == "numpy" else "MIT")
    with pytest.raises(AssertionError, match="numpy is under GPL"):
        test_every_licence_is_listed_and_compatible()
    cases = {("MIT OR GPL", "the package"): True, ("MIT AND GPL", "the package"): False}
    cases |= {("MPL-2.0", "the package"): False, ("MPL-2.0", licences.DEVELOPMENT): True}
    assert {case: licences.allowed("a", *case) for case in cases} == cases


OFFLINE = """
import socket, sys

def refuse(event, args):
    host = args[1][0] if event == "socket.connect" and isinstance(args[1], tuple) else None
    host = args[0] if event in ("socket.getaddrinfo", "socket.gethostbyname") else host
    if host not in (None, "", "127.0.0.1", "::1", "localhost"):
        print("CALLED", host, flush=True)
        raise OSError(f"connects to {host}")

sys.addaudithook(refuse)
"""
COMMANDS = """
import ddlcn.report, ddlcn.serve
from ddlcn.cli import main

bench = "bench digits --pq 1-1 --splits 1 --out run"
for command in ("demo -o m --report report", "info m --json", "atoms m -o atoms.png", bench, "bench-report run"):
    try:
        main(command.split())
    except SystemExit as end:
        assert not end.code, command
"""
CALLS = (
    "import urllib.request as u; u.urlopen('http://192.0.2.1/', timeout=3)",
    "socket.create_connection(('a.invalid', 80))",
)


def offline(code, folder):
    return run_python(OFFLINE + code, cwd=folder, MPLCONFIGDIR=str(folder), XDG_CACHE_HOME=str(folder))


def test_no_command_connects_to_the_network(tmp_path):
    assert "CALLED" not in offline(COMMANDS, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"m", "report", "atoms.png", "run"}


@pytest.mark.parametrize("call", CALLS)
def test_connection_would_be_noticed(tmp_path, call):
    assert "CALLED" in offline(f"try:\n    {call}\nexcept OSError:\n    pass", tmp_path)
