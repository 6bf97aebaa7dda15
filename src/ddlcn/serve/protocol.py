"""HTTP with an end to every wait: uvicorn alone lets a client take for ever over a request or an answer."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ddlcn.serve.guard import busy

HEAD_SECONDS = 10.0  # to begin a request: until its last header is here
TURN_SECONDS = 90.0  # to end it: the body, its place in the queue, the work, the last byte of the answer
LINGER_SECONDS = 2.0  # to read why an upload was refused that is still being sent


class Patient(H11Protocol):
    """A connection that is patient, but not for ever."""

    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(HEAD_SECONDS)
        most, self.limit_concurrency = self.config.limit_concurrency, None  # uvicorn's 503 has no Retry-After
        if most and len(self.connections) > most:
            self.app = busy()
        if most and len(self.connections) > 2 * most:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before: Any = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._wait(TURN_SECONDS)

    def on_response_complete(self) -> None:
        self._wait(LINGER_SECONDS if self.conn.their_state is h11.SEND_BODY else HEAD_SECONDS)
        super().on_response_complete()

    def _wait(self, seconds: float | None) -> None:
        """Wait no longer than this for what comes next."""
        if self._end:
            self._end.cancel()
        self._end = self.loop.call_later(seconds, self.transport.abort) if seconds else None
