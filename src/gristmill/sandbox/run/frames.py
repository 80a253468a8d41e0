"""Framed messages between host and guest. The host trusts no byte from the guest: it checks lengths before it stores anything,
one strict parser reads the frames, and a frame of unknown shape ends the run.

A frame is a four-byte little-endian length and a JSON array whose first element names it. The second element of a guest's frame
is the nonce of the order that it answers: a random text that the host sends with the order, so that no frame which was written
for one execution can count for another.
"""

import array
import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from gristmill.json_bounds import JsonOutOfBounds, check_json_depth, check_json_text
from gristmill.model import Json, RunNote

HEAD = struct.Struct("<I")
READ_BYTES = 1 << 16  # larger buffers make malloc map and unmap memory on every read
QUEUE_FRAMES = 10_000
MOST_ARGUMENTS, NAME_CHARACTERS = 1_000, 600
"""How many arguments one call may have, and how long the names of tools and arguments may be: a server's name and a tool's are
each shorter than half of it."""


UnfitReason = Literal["limits", "output", "folder", "descriptors", "interpreter"]
MOST_LEFT_FILES = 8
MOST_NOTES, MOST_SHOWN = 20, 8
SHOWN_CHARACTERS = 1_400_000
"""How long one picture may be, in base64."""


class ReadyFrame(msgspec.Struct, array_like=True, tag="ready", forbid_unknown_fields=True, frozen=True):
    """The child waits for code; ``pid`` is its pid in its own namespace. A fresh child answers no order: its nonce is empty."""

    nonce: str
    pid: int


class FailedFrame(msgspec.Struct, array_like=True, tag="failed", forbid_unknown_fields=True, frozen=True):
    """The child could not be sealed and has ended."""

    message: str


class BegunFrame(msgspec.Struct, array_like=True, tag="begun", forbid_unknown_fields=True, frozen=True):
    """A kept session begins to run the program; before this frame nothing of the program has run."""

    nonce: str


class UnfitFrame(msgspec.Struct, array_like=True, tag="unfit", forbid_unknown_fields=True, frozen=True):
    """A kept session cannot run another program, for this reason: no text of the guest, since its reader is the next caller."""

    nonce: str
    reason: UnfitReason


class CallFrame(msgspec.Struct, array_like=True, tag="call", forbid_unknown_fields=True, frozen=True):
    """The program calls a tool."""

    nonce: str
    id: int
    tool: str
    arguments: dict[str, Any]
    positional: list[Any]


class AbandonFrame(msgspec.Struct, array_like=True, tag="abandon", forbid_unknown_fields=True, frozen=True):
    """The program no longer waits for the answer to one of its calls."""

    nonce: str
    id: int


class ShownFrame(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A picture in base64, or the HTML of a table, that the program has shown or returned."""

    mime: Literal["image/png", "text/html"]
    text: Annotated[str, msgspec.Meta(max_length=SHOWN_CHARACTERS)]


class DoneFrame(msgspec.Struct, array_like=True, tag="done", forbid_unknown_fields=True, frozen=True):
    """The program has ended; ``limit`` is the guest's guess at the limit that stopped it, ``notes`` is for the caller."""

    nonce: str
    result: Any
    error: str | None
    error_type: str | None
    limit: str | None
    notes: Annotated[list[RunNote], msgspec.Meta(max_length=MOST_NOTES)] = []
    left_files: Annotated[list[str], msgspec.Meta(max_length=MOST_LEFT_FILES)] = []
    """Files that a program without a session leaves in its working directory."""
    shown: Annotated[list[ShownFrame], msgspec.Meta(max_length=MOST_SHOWN)] = []


RunFrame = BegunFrame | UnfitFrame | CallFrame | AbandonFrame | DoneFrame
"""The frames that belong to one execution."""
Message = ReadyFrame | FailedFrame | RunFrame
_decoder = msgspec.json.Decoder(Message)
_encoder = msgspec.json.Encoder()


class ProtocolViolation(Exception):
    """The guest broke the protocol."""


def decode_frame(body: bytes) -> Message:
    """Parses one frame's body. This is the one place where the depth, size and count of what a guest sends are bounded.

    Raises:
        ProtocolViolation: it is not one of the known messages, or it exceeds a bound.
    """
    try:
        may_be_deep = check_json_text(body)
        message = _decoder.decode(body)
        if isinstance(message, CallFrame):
            _check_names(message)
        if may_be_deep:
            check_json_depth(_list_foreign_values(message))
    except JsonOutOfBounds as error:
        raise ProtocolViolation(str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ProtocolViolation(f"unreadable frame: {type(error).__name__}") from None
    return message


def _check_names(call: CallFrame) -> None:
    if len(call.arguments) + len(call.positional) > MOST_ARGUMENTS:
        raise ProtocolViolation(f"a call has more than {MOST_ARGUMENTS:,} arguments")
    if max(map(len, call.arguments), default=0) > NAME_CHARACTERS or len(call.tool) > NAME_CHARACTERS:
        raise ProtocolViolation(f"the name of a tool or an argument has more than {NAME_CHARACTERS} characters")


def _list_foreign_values(message: Message) -> list[Json]:
    """Returns the values of a message whose shape its sender chooses."""
    if isinstance(message, CallFrame):
        return [*message.arguments.values(), *message.positional]
    return [message.result] if isinstance(message, DoneFrame) else []


def encode_frame(*message: Json) -> bytes:
    """Encodes one frame for the guest."""
    body = _encoder.encode(message)
    return HEAD.pack(len(body)) + body


class FrameReader:
    """Puts frames together from the bytes of a guest, and passes each one on with its length."""

    def __init__(self, on_message: Callable[[Message, int], None]) -> None:
        self._on_message = on_message
        self._buffer = bytearray()
        self.frame_limit = 1 << 16
        """The longest frame that is accepted."""

    def feed(self, data: bytes) -> None:
        """Takes bytes as they arrive.

        Raises:
            ProtocolViolation: a frame is too long, or none of the known messages.
        """
        self._buffer += data
        buffer, start = self._buffer, 0
        while len(buffer) - start >= HEAD.size:
            length = HEAD.unpack_from(buffer, start)[0]
            if length > self.frame_limit:
                raise ProtocolViolation(f"a frame of {length:,} bytes, more than {self.frame_limit:,}")
            end = start + HEAD.size + length
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                body = bytes(view[start + HEAD.size : end])
            message = decode_frame(body)
            start = end
            self._on_message(message, length)
        del buffer[:start]


class GuestLink:
    """The host's end of one child's socket. Callbacks run on the event loop; none may block."""

    def __init__(
        self, sock: socket.socket, on_message: Callable[[Message, int], None], on_end: Callable[[str | None], None]
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        # asyncio's readers, not anyio streams: a round trip has a budget of 100 us, and a task per child costs half of it.
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self.reader = FrameReader(on_message)
        self._queue: deque[memoryview] = deque()
        self._loop.add_reader(sock.fileno(), self._readable)

    def send(self, frame: bytes, fds: Sequence[int] = ()) -> None:
        """Queues one frame; it is sent at once if the socket accepts it."""
        if self._sock.fileno() < 0:
            return
        if len(self._queue) > QUEUE_FRAMES:
            self._close_and_report("the guest does not read its answers")
            return
        view = memoryview(frame)
        if not self._queue:
            view = view[self._write(view, fds) :]
        if view:
            if not self._queue:
                self._loop.add_writer(self._sock.fileno(), self._writable)
            self._queue.append(view)

    def poll(self) -> None:
        """Reads what is available now, without waiting for the event loop."""
        if self._sock.fileno() >= 0:
            self._readable()

    def close(self) -> None:
        """Closes the socket; frames that arrive later are not read."""
        fd = self._sock.fileno()
        if fd >= 0:
            self._loop.remove_reader(fd)
            if self._queue:  # only then does the event loop watch the socket for writing
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
            return len(view)  # the child has ended; reading from the socket reports that

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
            self._close_and_report(None)
            return
        try:
            self.reader.feed(data)
        except ProtocolViolation as violation:
            self._close_and_report(str(violation))

    def _close_and_report(self, violation: str | None) -> None:
        self.close()
        self._on_end(violation)
