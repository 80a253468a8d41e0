"""The transport of one client's connection: answers are sent in one packet, and a connection that is closed ends in a bounded
time, whatever its client does."""

import asyncio
from collections.abc import Callable
from typing import Any

LARGE_BYTES = 65_536
"""Data above this many bytes is sent at once: copying it would cost more than a second packet."""
LINGER_SECONDS = 2.0
"""How long a refused client may take to read its answer. If the connection were closed while its request still arrives, the
kernel would reset it, and the client would lose the answer."""
LEAST_BYTES = 10_000
"""A client that takes fewer bytes of its answer than this within the time limit is disconnected."""


class ClientTransport:
    """A transport that holds written data until more is written or the event loop runs again: the head and the body of an answer
    are sent as one packet, and wake the client once.

    After ``close`` the connection lingers while ``is_receiving`` says that a request is still arriving, and while data is left to
    send; a client that does not read is disconnected.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        *,
        is_receiving: Callable[[], bool] = lambda: False,
        seconds: float = 20.0,
    ) -> None:
        self._transport, self._loop, self._is_receiving, self._seconds = transport, loop, is_receiving, seconds
        self._held = b""
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None

    def write(self, data: bytes) -> None:
        """Sends ``data``, at the latest when the event loop runs again."""
        if self._is_closed:
            return
        if len(data) > LARGE_BYTES:
            self._flush()
            self._transport.write(data)
        elif self._held:
            self._held += data
            self._flush()
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Sends the held data and closes the connection."""
        self._flush()
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_receiving() and not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()  # tells the client that the answer is complete
            self._transport.resume_reading()  # its request is read and dropped, so that the kernel does not reset the connection
            self._set_timer(LINGER_SECONDS, self.end)
            return
        self.end()

    def is_closing(self) -> bool:
        """Whether the connection was closed; it may still linger."""
        return self._is_closed or self._transport.is_closing()

    def end(self) -> None:
        """Closes the connection without waiting for the rest of a request."""
        self.stop_timer()
        self._is_closed = True
        self._transport.close()
        self.watch_progress()

    def abort(self) -> None:
        """Ends the connection at once; what was not sent is lost."""
        self.stop_timer()
        self._is_closed = True
        self._transport.abort()

    def watch_progress(self) -> None:
        """Ends the connection if its client takes too little of the data that is left to send."""
        if left := self._count_unsent():
            self._set_timer(self._seconds, lambda: self._check_progress(left))

    def stop_timer(self) -> None:
        """Stops watching: the connection has ended, or all data was sent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_progress(self, before: int) -> None:
        left = self._count_unsent()
        if left > before - LEAST_BYTES and left:
            self.abort()
        else:
            self.watch_progress()

    def _count_unsent(self) -> int:
        return self._transport.get_write_buffer_size()

    def _set_timer(self, seconds: float, act: Callable[[], None]) -> None:
        self.stop_timer()
        self._timer = self._loop.call_later(seconds, act)

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
