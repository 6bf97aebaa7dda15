"""Listen, answer, and end cleanly."""

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.serve.api import create_app
from ddlcn.serve.guard import is_loopback
from ddlcn.serve.limits import Limits
from ddlcn.serve.protocol import Patient


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
    """Serve a model until Ctrl-C; `tell` gets the page's address. Beyond this machine a token is needed."""
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
    with _listen(host, port) as listener:
        server = create_server(create_app(model, name=name, token=token, threads=threads))
        tell(_address(host, listener.getsockname()[1], token))
        with suppress(KeyboardInterrupt):  # uvicorn has ended cleanly before it raises this
            server.run([listener])


def create_server(app: ASGIApp, limits: Limits = Limits()) -> uvicorn.Server:
    """A server that no client can hold up."""
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=16 * 2**10,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        what = f"{host}:{port} ({error.strerror})"
        raise DDLCNError(f"can't listen on {what}; give another --port or --host") from None


def _address(host: str, port: int, token: str | None) -> str:
    """Where a browser finds the page; the token is after the #, which browsers send to no one."""
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{f'#token={token}' if token else ''}"
