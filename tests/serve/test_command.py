"""`ddlcn serve` as people start and end it."""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def started(*args: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command in a process of its own, and give the address that it prints."""
    command = [sys.executable, "-m", "ddlcn", "serve", *map(str, args)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert " is at http://" in line, process.communicate()
        yield process, line.split(" is at ")[1].strip()
    finally:
        process.kill()
        process.communicate()


def fetch(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.read()


def test_it_serves_until_ctrl_c(model_file: Path) -> None:
    with started(model_file, "--port", 0) as (process, address):
        assert process.stdout
        hint = process.stdout.readline()  # here: what a line brought along is lost to `communicate`
        assert fetch(f"{address}healthz") == b'{"status":"ok"}'
        assert b"<title>ddlcn serve" in fetch(address)
        with socket.create_connection(("127.0.0.1", int(address.split(":")[2][:-1]))):  # an idle client
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (0, "")
        assert "Ctrl-C" in hint
        assert str(model_file.parent) not in hint + out


def test_beyond_this_machine_it_asks_for_a_token(model_file: Path) -> None:
    with started(model_file, "--host", "0.0.0.0", "--port", 0) as (_, address):
        place, token = address.split("/#token=")
        here = f"http://127.0.0.1:{place.rsplit(':', 1)[1]}"
        assert len(token) >= 20
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(f"{here}/api/model")
        assert b'"bars"' in fetch(f"{here}/api/model", Authorization=f"Bearer {token}")


def test_mistakes_are_one_line(run, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"can't listen on 127.0.0.1:{port}" in run("serve", model_file, "--port", port).line
    assert "can't listen on nowhere.invalid" in run("serve", model_file, "--host", "nowhere.invalid").line
    assert "8 or more" in run("serve", model_file, "--token", "short").line
    assert "does not exist" in run("serve", "no.ddlcn").line
    for name in [name for name in sys.modules if name.startswith("ddlcn.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "pip install 'ddlcn[serve]'" in run("serve", model_file).line
