"""A client's connection: how long it may take to ask and with how much, and how an answer leaves."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LARGE = 65_536
"""Bytes that are not copied for the sake of one packet less."""


class BoundedProtocol(HttpToolsProtocol):
    """Hangs up on whoever takes too long to send the headers of a request, or sends too much that is no body: neither idle
    connections nor endless headers may cost anything. Answers leave whole."""

    header_seconds = 20.0
    header_bytes = 65_536
    _timer: asyncio.TimerHandle | None = None
    _is_head = True
    """The next bytes are of a head, or the first of one."""
    _head = 0
    """Bytes of it so far, and of what may follow the body like it."""
    _unread = 0
    """Bytes that have come since the parser last made something of them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to count."""
        super().connection_made(cast("asyncio.Transport", Together(transport, self.loop)))
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count while a request has begun and its headers are not complete."""
        for at in range(0, len(data), self.header_bytes):  # so that no piece is all of a head that is too large
            piece = data[at : at + self.header_bytes]
            self._unread += len(piece)
            super().data_received(piece)
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                self._disarm()  # it was told to go, or is a socket from here on
                return
            if self._head + self._unread > self.header_bytes:
                self._disarm()
                self.send_400_response(f"The headers of a request have at most {self.header_bytes} bytes here.")
                return
        if self._is_head and self._head:
            if self._timer is None:
                self._arm()
        else:
            self._disarm()

    def on_message_begin(self) -> None:
        """A request begins, with a byte at least."""
        self._head, self._unread = 1, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Some of what it asks for."""
        self._head, self._unread = self._head + len(url), 0
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one that follows the body is nobody's business."""
        self._head, self._unread = self._head + len(name) + len(value) + len(": \r\n"), 0
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._is_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of its body, which whoever reads it counts."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._is_head, self._head, self._unread = True, 0, 0
        super().on_message_complete()

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
