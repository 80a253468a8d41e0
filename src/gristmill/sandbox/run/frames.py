"""Framed messages between host and guest. Every byte from the guest is hostile: lengths are checked before anything is kept,
one strict parser reads, unknown shapes end the run.

A frame is a four-byte little-endian length and a JSON array whose first element names it.
"""

import array
import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gristmill.model import Json

HEAD = struct.Struct("<I")
READ_BYTES = 1 << 16  # larger buffers make malloc map and unmap memory on every read
QUEUE_FRAMES = 10_000


class Ready(msgspec.Struct, array_like=True, tag="ready", forbid_unknown_fields=True, frozen=True):
    """The child waits for code; ``pid`` is its own view."""

    pid: int


class Failed(msgspec.Struct, array_like=True, tag="failed", forbid_unknown_fields=True, frozen=True):
    """The child could not be sealed and has ended."""

    message: str


class Call(msgspec.Struct, array_like=True, tag="call", forbid_unknown_fields=True, frozen=True):
    """The code calls a tool."""

    id: int
    tool: str
    arguments: dict[str, Any]
    positional: list[Any]


class Done(msgspec.Struct, array_like=True, tag="done", forbid_unknown_fields=True, frozen=True):
    """The program has ended; ``limit`` is the guest's guess at what stopped it."""

    result: Any
    error: str | None
    error_type: str | None
    limit: str | None


Message = Ready | Failed | Call | Done
_decoder = msgspec.json.Decoder(Message)
_encoder = msgspec.json.Encoder()


class Violation(Exception):
    """The guest broke the protocol."""


def decode(body: bytes | bytearray | memoryview) -> Message:
    """Parse one frame's body.

    Raises:
        Violation: it is not a message of ours.
    """
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Violation(f"unreadable frame: {type(error).__name__}") from None


def encode(*message: Json) -> bytes:
    """One frame to the guest."""
    body = _encoder.encode(message)
    return HEAD.pack(len(body)) + body


class Link:
    """The host's end of one child's socket. Callbacks run on the event loop; none may block."""

    def __init__(
        self, sock: socket.socket, on_message: Callable[[Message, int], None], on_end: Callable[[str | None], None]
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        # asyncio's readers, not anyio streams: a round trip has a budget of 100 us, and a task per child costs half of it.
        self._loop = asyncio.get_running_loop()
        self._on_message, self._on_end = on_message, on_end
        self._buffer = bytearray()
        self._queue: deque[memoryview] = deque()
        self.frame_limit = 1 << 16
        self._loop.add_reader(sock.fileno(), self._readable)

    def send(self, frame: bytes, fds: Sequence[int] = ()) -> None:
        """Queue one frame; it leaves at once if the socket takes it."""
        if self._sock.fileno() < 0:
            return
        if len(self._queue) > QUEUE_FRAMES:
            self._end("the guest does not read its answers")
            return
        view = memoryview(frame)
        if not self._queue:
            view = view[self._write(view, fds) :]
        if view:
            if not self._queue:
                self._loop.add_writer(self._sock.fileno(), self._writable)
            self._queue.append(view)

    def poll(self) -> None:
        """Read what is there now, without waiting for the event loop to say so."""
        if self._sock.fileno() >= 0:
            self._readable()

    def close(self) -> None:
        """Stop listening; whatever arrives from now on is not heard."""
        fd = self._sock.fileno()
        if fd >= 0:
            self._loop.remove_reader(fd)
            if self._queue:  # only then the loop watches for room
                self._loop.remove_writer(fd)
            self._sock.close()
            self._queue.clear()

    def _write(self, view: memoryview, fds: Sequence[int] = ()) -> int:
        try:
            if fds:
                return self._sock.sendmsg([view], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            return self._sock.send(view)
        except BlockingIOError:
            return 0
        except OSError:
            return len(view)  # the child is gone; its end is reported by reading

    def _writable(self) -> None:
        while self._queue:
            sent = self._write(self._queue[0])
            if sent < len(self._queue[0]):
                self._queue[0] = self._queue[0][sent:]
                return
            self._queue.popleft()
        self._loop.remove_writer(self._sock.fileno())

    def _readable(self) -> None:
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end(None)
            return
        self._buffer += data
        try:
            self._parse()
        except Violation as violation:
            self._end(str(violation))

    def _parse(self) -> None:
        buffer, start = self._buffer, 0
        while len(buffer) - start >= HEAD.size:
            length = HEAD.unpack_from(buffer, start)[0]
            if length > self.frame_limit:
                raise Violation(f"a frame of {length:,} bytes, more than {self.frame_limit:,}")
            end = start + HEAD.size + length
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                message = decode(view[start + HEAD.size : end])
            start = end
            self._on_message(message, length)
        del buffer[:start]

    def _end(self, violation: str | None) -> None:
        self.close()
        self._on_end(violation)
