"""HTTP with a time limit for every wait: uvicorn alone waits forever for a slow client."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ddlcn.serve.guard import busy
from ddlcn.serve.limits import Limits


class TimedProtocol(H11Protocol):
    """A connection that is closed when its client is too slow."""

    _end: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self.limits.head_seconds)
        if len(self.connections) > self.limits.connections:
            self.app = busy()
        if len(self.connections) > 2 * self.limits.connections:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before: Any = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._wait(self.limits.request_seconds)

    def on_response_complete(self) -> None:
        sending = self.conn.their_state is h11.SEND_BODY
        self._wait(self.limits.refused_seconds if sending else self.limits.head_seconds)
        super().on_response_complete()

    def end(self) -> None:
        """Close the connection, unless its request can still get an answer."""
        cycle: Any = self.cycle
        if cycle is None or cycle.response_started or self.flow.write_paused:  # idle, or its client does not read
            self.transport.abort()

    def _wait(self, seconds: float | None) -> None:
        """Close the connection after this time, unless something else comes first."""
        if self._end:
            self._end.cancel()
        self._end = self.loop.call_later(seconds, self.transport.abort) if seconds else None
