"""Connections of readers: one that does not finish its request in time is closed."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""From the first byte of a request to its last: a browser sends one of ours at once."""
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""States of a client whose request is not here in full."""


class TimedConnection(H11Protocol):  # type: ignore[misc]  # uvicorn has no types here
    """uvicorn's connection, which by itself waits for the rest of a request without end."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  of uvicorn
        """The time begins."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """More bytes of a request do not give it more time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in _UNFINISHED:
            self._forget()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self._end)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if self.conn.their_state in _UNFINISHED:
            self.transport.abort()
