"""Clients that are slow, broken or many can't block the server."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.serve.conftest import running

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"


@pytest.fixture
def address(model) -> Iterator[tuple[str, int]]:
    """A server that does not wait for long."""
    from ddlcn.serve import Limits, create_app

    waits = {"head_seconds": 0.5, "body_seconds": 0.5, "request_seconds": 2.0, "refused_seconds": 0.5}
    limits = Limits(body_bytes=1_000_000, connections=4, **waits)
    with running(create_app(model, limits=limits), limits) as address:
        yield address
        assert get(address).startswith(b"HTTP/1.1 200"), "the server still works"


def get(address: tuple[str, int]) -> bytes:
    for _ in range(20):  # until other connections have been closed
        try:
            answer = exchange(address, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        except ConnectionError:
            answer = b""
        if answer.startswith(b"HTTP/1.1 200"):
            break
        time.sleep(0.1)
    return answer


def exchange(address: tuple[str, int], *parts: bytes, pause: float = 0.0) -> bytes:
    """Send parts with pauses between them, and return the answer."""
    with socket.create_connection(address, timeout=10) as client:
        for part in parts:
            client.sendall(part)
            time.sleep(pause)
        answer = b""
        while more := client.recv(65536):
            answer += more
        return answer


def test_silent_client(address):
    start = time.monotonic()
    assert exchange(address) == b""
    assert time.monotonic() - start < 5


def test_slow_headers(address):
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        exchange(address, b"GET / HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 40, pause=0.1)


def test_slow_body(address):
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        exchange(address, HEAD + b"Content-Length: 1000\r\n\r\n", *[b"-"] * 60, pause=0.1)
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n--x")
        assert b" 408 " in client.recv(65536).splitlines()[0]


def test_large_body(address):
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(HEAD + b"Content-Length: 50000000\r\n\r\n" + bytes(200_000))
        assert b" 413 " in client.recv(65536).splitlines()[0]


def test_client_that_disconnects(address, image):
    for cut in (10, 100, 1000):
        with socket.create_connection(address, timeout=10) as client:
            client.sendall((HEAD + b"Content-Length: 5000\r\n\r\n--x\r\n" + image)[:cut])


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /%s HTTP/1.1\r\n" % (b"a" * 100_000),
        b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ],
)
def test_no_http(address, data):
    try:
        answer = exchange(address, data)
    except ConnectionError:
        return
    assert answer.split(b" ")[1] in (b"400", b"200", b"403", b"404"), answer


def test_two_lengths(address):
    both = b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    answer = exchange(address, HEAD + both + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1, "the connection is closed"


def test_unread_answer(address):
    with socket.create_connection(address, timeout=10) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400)
        time.sleep(3)
        with pytest.raises(ConnectionError):
            client.sendall(bytes(10_000_000))


def test_too_many_connections(address):
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(socket.create_connection(address, timeout=10))
        fifth = stack.enter_context(socket.create_connection(address, timeout=10))
        fifth.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = fifth.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer.lower()
