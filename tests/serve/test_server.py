"""A server in a process of its own, as `ddlcn serve` starts it."""

import os
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from tests.cli.conftest import start


@contextmanager
def started(*args: object) -> Iterator[tuple[Popen[str], str]]:
    """Run the command, and give the address that it prints."""
    process = start("serve", *args)
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


def test_until_ctrl_c(model_file: Path) -> None:
    with started(model_file, "--port", 0) as (process, address):
        assert process.stdout
        hint = process.stdout.readline()  # here: `communicate` would lose what was read ahead
        assert fetch(f"{address}healthz") == b'{"status":"ok"}'
        assert b"<title>ddlcn serve" in fetch(address)
        with socket.create_connection(("127.0.0.1", int(address.split(":")[2][:-1]))):  # an idle client
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (0, "")
        assert "Ctrl-C" in hint
        assert str(model_file.parent) not in hint + out


def test_other_machines_need_a_token(model_file: Path) -> None:
    with started(model_file, "--host", "0.0.0.0", "--port", 0) as (_, address):
        place, token = address.split("/#token=")
        here = f"http://127.0.0.1:{place.rsplit(':', 1)[1]}"
        assert len(token) >= 20
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(f"{here}/api/model")
        assert b'"bars"' in fetch(f"{here}/api/model", Authorization=f"Bearer {token}")
