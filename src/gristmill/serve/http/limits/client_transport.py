"""A client's connection: how long it may take to ask, and how an answer leaves."""

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_LARGE = 65_536
"""Bytes that are not copied for the sake of one packet less."""


class TimedProtocol(H11Protocol):
    """Hangs up on whoever takes too long to send the headers of a request: idle connections must cost nothing for long.
    Answers leave whole."""

    header_seconds = 20.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to count."""
        super().connection_made(cast("asyncio.Transport", Together(transport, asyncio.get_running_loop())))
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count while a request has begun and its headers are not complete."""
        # h11 measures only what it could not read yet: in pieces of the limit, it never reads more than that as headers.
        most = self.config.h11_max_incomplete_event_size or len(data)
        while data and self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            room = max(1, most - len(self.conn.trailing_data[0]))
            super().data_received(data[:room])
            data = data[room:]
        if data and not self.transport.is_closing():
            super().data_received(data)
        self._count()

    def on_response_complete(self) -> None:
        """The next request may have begun meanwhile."""
        super().on_response_complete()
        self._count()

    def _count(self) -> None:
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            if self._timer is None:
                self._arm()
        else:
            self._disarm()

    def _arm(self) -> None:
        self._timer = self.loop.call_later(self.header_seconds, self._hang_up)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class Together:
    """A transport that holds what is written until more is, or until the loop has come round: a head and its body leave as one,
    and wake whoever waits for them once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held = b""

    def write(self, data: bytes) -> None:
        """Send ``data``, soon."""
        if len(data) > _LARGE:
            self._flush()
            self._transport.write(data)
        elif self._held:
            self._held += data
            self._flush()
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Send what is left, and hang up."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
