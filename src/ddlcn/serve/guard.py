"""The checks before the API: who may send requests, how large a body may be, how slow, and how many at once.

Without a token only pages of this server may send requests, under a name of this machine: other sites that a browser
visits can neither post here (`Origin`, `Sec-Fetch-Site`) nor rename themselves to 127.0.0.1 (`Host`, DNS rebinding).
With a token, every client that has it may.
"""

import asyncio
import secrets
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ddlcn.serve.limits import Limits
from ddlcn.serve.workers import BUSY, Workers

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def refusal(status: int, reason: str) -> JSONResponse:
    """Return an answer that says why a request is refused."""
    more = {400: {"Connection": "close"}, 401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
    return JSONResponse({"detail": reason}, status, more.get(status))


def busy() -> JSONResponse:
    """Return the answer to a request too many."""
    return refusal(503, BUSY)


def is_loopback(host: str) -> bool:
    """Return whether a name or address can only be this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "127.0.0.1.evil.example")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, token: str | None, limits: Limits, workers: Workers) -> None:
        self.app, self.token, self.limits, self.workers = app, token, limits, workers
        self.held = 0  # bytes of bodies, of all requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        started = False

        async def secured(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(SECURITY)
            await send(message)

        headers = Headers(scope=scope)
        if refused := self._refuse(scope, headers):
            return await refused(scope, receive, secured)
        body = _Body(receive, self)
        try:
            return await self.app(scope, body.receive, secured)
        except asyncio.CancelledError:  # the server stops
            return None if started else await refusal(503, "the server stops")(scope, receive, secured)
        finally:
            self.held -= body.size

    def _refuse(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.token is None and not is_loopback(_name(host)):
            return refusal(403, "the Host header is not a loopback address; use the address that the server printed")
        site = headers.get("sec-fetch-site", "none") if scope["method"] == "POST" else "none"
        if (origin is not None and _netloc(origin) != host) or site not in ("none", "same-origin"):
            return refusal(403, "requests from pages of other sites are refused")
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may see another request than we
            return refusal(400, "send either Content-Length or Transfer-Encoding")
        if self.token is not None and scope["path"].startswith("/api/"):
            given = headers.get("authorization", "").encode()
            if not secrets.compare_digest(given, f"Bearer {self.token}".encode()):
                return refusal(401, "a token is needed: send the header Authorization: Bearer TOKEN")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self.limits.body_bytes:
            return refusal(413, too_large(self.limits))
        return busy() if scope["method"] == "POST" and self.workers.full else None


class _Body:
    """The body of a request, counted as it comes."""

    def __init__(self, receive: Receive, guard: Guard) -> None:
        self._receive, self._guard = receive, guard
        self.size = 0
        self._more, self._end = True, asyncio.get_running_loop().time() + guard.limits.body_seconds

    async def receive(self) -> Message:
        if not self._more:
            return await self._receive()
        limits = self._guard.limits
        try:
            async with asyncio.timeout_at(self._end):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"the body took more than {limits.body_seconds:g} seconds") from None
        self._more = message.get("more_body", False)
        n = len(message.get("body", b""))
        self.size += n
        self._guard.held += n
        if self.size > limits.body_bytes:
            raise HTTPException(413, too_large(limits))
        if self._guard.held > limits.held_bytes:
            raise HTTPException(503, "too many uploads at once; try again in a second", {"Retry-After": "1"})
        return message


def too_large(limits: Limits) -> str:
    """Say that a request is too large."""
    return f"the request is larger than {limits.body_bytes / 2**20:g} MB; send fewer or smaller images"


def _name(host: str) -> str:
    """The host of a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str | None:
    """The host and port of an Origin header."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
