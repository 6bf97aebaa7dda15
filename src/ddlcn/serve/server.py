"""Listen, answer requests, and stop cleanly."""

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.serve.api import create_app
from ddlcn.serve.guard import is_loopback
from ddlcn.serve.limits import Limits
from ddlcn.serve.protocol import TimedProtocol

_LAST_SECONDS = 2.0  # that requests have after Ctrl-C


def serve(
    model: DDLCNClassifier,
    *,
    name: str = "model",
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    threads: int = 2,
    tell: Callable[[str], object] = print,
) -> None:
    """Serve a model until Ctrl-C.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    name : str
        Shown on the page.
    host, port : str and int
        Address to listen on; port 0 is any free one.
    token : str, optional
        Clients must send it. If `host` is not this machine, a random one is made.
    threads : int
    tell : callable
        Called with the address of the page.

    Raises
    ------
    DDLCNError
        If the address can't be used.
    """
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
    with _listen(host, port) as listener:
        server = create_server(create_app(model, name=name, token=token, threads=threads))
        tell(_address(host, listener.getsockname()[1], token))
        with suppress(KeyboardInterrupt):  # uvicorn has stopped cleanly before it raises this
            server.run([listener])


class _Server(uvicorn.Server):
    """Answers what is pending on Ctrl-C with 503; uvicorn answers 500, and prints a traceback for each request."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(_LAST_SECONDS, self._end_requests)
        await super().shutdown(sockets)

    def _end_requests(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, TimedProtocol):
                connection.end()
        for task in self.server_state.tasks:
            task.cancel()


def create_server(app: ASGIApp, limits: Limits = Limits()) -> uvicorn.Server:
    """Return a server that no client can block."""
    config = uvicorn.Config(
        app,
        http=partial(TimedProtocol, limits=limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=16 * 2**10,
        timeout_graceful_shutdown=3,
    )
    return _Server(config)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        what = f"{host}:{port} ({error.strerror})"
        raise DDLCNError(f"can't listen on {what}; give another --port or --host") from None


def _address(host: str, port: int, token: str | None) -> str:
    """The address of the page; browsers do not send the token, because it is after the #."""
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{f'#token={token}' if token else ''}"
