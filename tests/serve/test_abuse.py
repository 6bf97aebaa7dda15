"""Clients that are slow, rude or many can't hold the server, over real sockets."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.serve.conftest import running

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"


@pytest.fixture
def address(model, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server of little patience."""
    from ddlcn.serve import Limits, create_app, protocol

    for name, seconds in (("HEAD_SECONDS", 0.5), ("TURN_SECONDS", 2.0), ("LINGER_SECONDS", 0.5)):
        monkeypatch.setattr(protocol, name, seconds)
    app = create_app(model, limits=Limits(body_seconds=0.5, body_bytes=1_000_000))
    with running(app, connections=4) as address:
        yield address
        assert get(address).startswith(b"HTTP/1.1 200"), "it lives on"


def get(address: tuple[str, int]) -> bytes:
    for _ in range(20):  # until abusers have been hung up on
        try:
            answer = exchange(
                address, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
        except ConnectionError:
            answer = b""
        if answer.startswith(b"HTTP/1.1 200"):
            break
        time.sleep(0.1)
    return answer


def exchange(address: tuple[str, int], *parts: bytes, pause: float = 0.0) -> bytes:
    """Send parts with pauses between them, and give all that is answered until the server hangs up."""
    with socket.create_connection(address, timeout=10) as client:
        for part in parts:
            client.sendall(part)
            time.sleep(pause)
        answer = b""
        while more := client.recv(65536):
            answer += more
        return answer


def test_a_client_that_says_nothing(address):
    start = time.monotonic()
    assert exchange(address) == b""
    assert time.monotonic() - start < 5


def test_headers_that_trickle(address):
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        exchange(address, b"GET / HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 40, pause=0.1)


def test_a_body_that_trickles(address):
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        exchange(address, HEAD + b"Content-Length: 1000\r\n\r\n", *[b"-"] * 60, pause=0.1)
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n--x")
        assert b" 408 " in client.recv(65536).splitlines()[0]


def test_a_body_larger_than_allowed_is_told_so_while_it_is_sent(address):
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(HEAD + b"Content-Length: 50000000\r\n\r\n" + bytes(200_000))
        assert b" 413 " in client.recv(65536).splitlines()[0]


def test_a_client_that_hangs_up(address, image):
    for cut in (10, 100, 1000):
        with socket.create_connection(address, timeout=10) as client:
            client.sendall((HEAD + b"Content-Length: 5000\r\n\r\n--x\r\n" + image)[:cut])


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /%s HTTP/1.1\r\n" % (b"a" * 100_000),
        b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ],
)
def test_nonsense(address, nonsense):
    try:
        answer = exchange(address, nonsense)
    except ConnectionError:
        return
    assert answer.split(b" ")[1] in (b"400", b"200", b"403", b"404"), answer


def test_an_answer_that_no_one_reads(address):
    with socket.create_connection(address, timeout=10) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400)
        time.sleep(3)
        with pytest.raises(ConnectionError):
            client.sendall(bytes(10_000_000))


def test_more_connections_than_allowed(address):
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(socket.create_connection(address, timeout=10))
        fifth = stack.enter_context(socket.create_connection(address, timeout=10))
        fifth.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = fifth.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer.lower()
