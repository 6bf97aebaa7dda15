"""A server in a process of its own, as `ddlcn serve` starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


SLOW = """import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from ddlcn import DDLCNClassifier
from ddlcn.serve import serve

class Slow(DDLCNClassifier):
    def assess(self, X):
        print("busy\\n", end="", flush=True)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            sum(range(10**4))

model = Slow()
vars(model).update(vars(DDLCNClassifier.load(sys.argv[1])))
serve(model, port=0, threads=2, tell=lambda line: print(line, flush=True))
"""


def test_ctrl_c_on_a_busy_server(model_file: Path, image: bytes) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SLOW, str(model_file)]
    with Popen(command, stdout=pipe, stderr=pipe, text=True) as process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout
        port = int(process.stdout.readline().split(":")[2].strip("/\n"))
        head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        body = b'--x\r\nContent-Disposition: form-data; name="images"; filename="a"\r\n\r\n' + image + b"\r\n--x--\r\n"
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(10)]
        for client in clients[:8]:  # two at work, and six that wait
            client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        clients[8].sendall(head + b"Content-Length: 5000\r\n\r\n--x")  # a slow body
        clients[9].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)  # answers that nobody reads
        clients[9].sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400)
        assert [process.stdout.readline() for _ in range(2)] == ["busy\n"] * 2
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert [client.recv(65536).split()[1] for client in clients[:9]] == [b"503"] * 9
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert time.monotonic() - start < 5


def test_other_machines_need_a_token(model_file: Path) -> None:
    with started(model_file, "--host", "0.0.0.0", "--port", 0) as (_, address):
        place, token = address.split("/#token=")
        here = f"http://127.0.0.1:{place.rsplit(':', 1)[1]}"
        assert len(token) >= 20
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(f"{here}/api/model")
        assert b'"bars"' in fetch(f"{here}/api/model", Authorization=f"Bearer {token}")
