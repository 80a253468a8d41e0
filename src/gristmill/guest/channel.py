# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""The one way out: framed messages to the host over a single socket.

A frame is a four-byte length and a JSON array whose first element names it. Several threads and an event loop may wait for
answers at once; whoever waits first reads for all. Nothing here is a defence: the host trusts no byte of it.
"""

import binascii
import contextlib
import itertools
import json
import os
import socket
import struct
import threading

from gristmill.guest.pending_call import Pending
from gristmill.guest.planned_result import Planned, encodable

_HEAD = struct.Struct("<I")
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=encodable).encode
_decode = json.JSONDecoder(strict=False).decode


def frame(text):
    """``text`` as it goes over the wire."""
    # A lone surrogate has no UTF-8; a replaced character beats a lost message.
    body = text.encode("utf-8", "replace")
    return _HEAD.pack(len(body)) + body


class ToolError(Exception):
    """A tool call failed; ``code`` says how (``refused.call``, ``upstream.timeout``...)."""

    def __init__(self, message, code="upstream.tool_failed"):
        super().__init__(message)
        self.code = code


ToolError.__module__ = "mcp_client"  # where the agent can import it from


class _Echo:
    """Stands where the socket does, and answers the call that was sent last."""

    def sendall(self, data):
        self._call = _decode(data[_HEAD.size :].decode("utf-8"))

    def recv(self, size, flags=0):
        return frame(_encode(("value", self._call[1], None)))


class Channel:
    """Our end of the socket."""

    def __init__(self):
        self.sock = None
        self._ids = itertools.count(1)
        self._buffer = bytearray()
        self._open = {}  # call id -> Pending
        self.home = None  # the workspace, where files of results go
        self._orders = []  # frames from the host that answer no call
        self._turn = threading.Condition(threading.Lock())  # guards _open, _reading and Pending.done
        self._sending = threading.Lock()  # keeps frames whole
        self._reading = False
        self._waiting = 0  # threads that wait for the one that reads
        self._watched = {}  # event loops whose selector knows our socket
        self.unused_errors = []

    # -- frames ---------------------------------------------------------------------------------------------------------

    def send(self, *message):
        """Write one frame."""
        self.send_text(_encode(message))

    def send_text(self, text):
        """Write one frame that is JSON already."""
        if self.sock is None:
            raise ToolError("tools can be called from the program's main process only, not from one that it forked")
        with self._sending:
            self.sock.sendall(frame(text))

    def next_order(self):
        """Block for the host's next order; returns it and the descriptors that came with it."""
        while not self._orders:
            self._fill(self._receive_with_fds())
        return self._orders.pop(0), self._fds

    @contextlib.contextmanager
    def talking_to_itself(self):
        """Calls made meanwhile never leave: each is answered with nothing, at once."""
        sock, self.sock = self.sock, _Echo()
        try:
            yield
        finally:
            self.sock = sock

    def _receive_with_fds(self):
        data, self._fds, _, _ = socket.recv_fds(self.sock, 1 << 16, 2)
        return data

    def _fill(self, data):
        if not data:
            os._exit(0)  # the host is gone: so are we
        self._buffer += data
        for message in self._frames():
            self._take(message)

    def _frames(self):
        buffer, start = self._buffer, 0
        while len(buffer) - start >= 4:
            end = start + 4 + _HEAD.unpack_from(buffer, start)[0]
            if len(buffer) < end:
                break
            yield _decode(buffer[start + 4 : end].decode("utf-8"))
            start = end
        del buffer[:start]

    def _take(self, message):
        if message[0] not in ("value", "error", "planned"):
            self._orders.append(message)
            return
        pending = self._open.pop(message[1], None)
        if pending is None:
            return  # an answer to something that was not asked through us
        if message[0] == "value":
            pending.settle(message[2], self._write_files(message[3]) if len(message) > 3 else None)
        elif message[0] == "planned":
            pending.settle(Planned(message[2], pending.tool), None)
        else:
            pending.settle(None, ToolError(message[3], message[2]))

    def _write_files(self, files):
        """Put what came along with an answer into the workspace; returns the error if that cannot be done."""
        try:
            for name, text in files.items():
                path = os.path.join(self.home or "", name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(binascii.a2b_base64(text))
        except OSError as error:
            return ToolError(f"the tool answered with files, and they cannot be written: {error}", "limit.workspace")
        return None

    # -- calls ----------------------------------------------------------------------------------------------------------

    def start(self, tool, arguments, positional=()):
        """Send a call and return at once with its pending answer."""
        pending = Pending(self, tool)
        number = next(self._ids)
        text = _encode(("call", number, tool, arguments, positional))  # raises before anything is registered or sent
        with self._turn:
            self._open[number] = pending
        self.send_text(text)
        return pending

    def wait(self, pending):
        """Block until ``pending`` is answered. Whoever waits while nobody reads becomes the reader."""
        turn = self._turn
        while True:
            with turn:
                while self._reading and not pending.done:
                    self._waiting += 1
                    turn.wait()
                    self._waiting -= 1
                if pending.done:
                    return
                self._reading = True
            data = None
            try:
                data = self.sock.recv(1 << 16)
            finally:
                with turn:
                    self._reading = False
                    if data is not None:
                        self._fill(data)
                    if self._waiting:
                        turn.notify_all()

    def watch(self, loop):
        """Let ``loop`` read answers for its own waiters while it runs."""
        if loop not in self._watched:
            loop.add_reader(self.sock.fileno(), self._readable)
            self._watched[loop] = True

    def unwatch(self, loop):
        """Forget a loop that ends."""
        if self._watched.pop(loop, None) and not loop.is_closed():
            loop.remove_reader(self.sock.fileno())

    def _readable(self):
        with self._turn:
            if self._reading:
                return  # a thread is at it and will wake us
            try:
                data = self.sock.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            self._fill(data)
            self._turn.notify_all()

    def settle_all(self):
        """Wait for every call that has left: none may be cut off because its answer was not used."""
        while self._open:
            self.wait(next(iter(self._open.values())))
        errors, self.unused_errors = self.unused_errors, []
        return [pending for pending in errors if not pending.observed]

    def close(self):
        """Give the socket up for good."""
        sock, self.sock = self.sock, None
        if sock is not None:
            os.close(sock.detach())

    def open(self, fd):
        """Speak on this socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fd)

    def branch(self, fd):
        """Speak on another socket from now on: we are a fork of the session that the old one belongs to."""
        home = self.home
        self.close()
        self.__init__()
        self.home = home
        self.open(fd)
