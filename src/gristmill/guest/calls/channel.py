# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The only way out of the jail: framed messages to the host over a single socket.

A frame is a four-byte length and a JSON array whose first element names it. Several threads and an event loop may wait for
answers at once; the first that waits reads for all. Nothing here is a defence: the host trusts no byte of it.

Every frame to the host carries the nonce of the order that is being carried out. Between two programs of a session there is
none, and nothing is sent: a thread that an earlier program left behind must not speak for the next one.
"""

import binascii
import contextlib
import itertools
import json
import os
import signal
import socket
import struct
import threading

from gristmill.guest.calls.call_bounds import check_call, explain_depth
from gristmill.guest.calls.executor_jobs import find_job
from gristmill.guest.calls.pending_call import PendingCall
from gristmill.guest.calls.planned_result import PlannedResult
from gristmill.guest.lone_surrogates import describe_lone_surrogate
from gristmill.guest.values.argument_values import convert_argument
from gristmill.guest.values.result_objects import decode_results

_HEAD = struct.Struct("<I")
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=convert_argument).encode
_decode = json.JSONDecoder(strict=False).decode
_VALUE_FRAME = '["value",'


_SPLIT_BYTES = 1 << 15
"""A frame up to this size is sent by one system call; an alarm of the program could cut a longer one in two."""
_ALL_SIGNALS = frozenset(signal.valid_signals())


def make_frame(text):
    """Encodes ``text`` as a frame.

    Raises:
        UnicodeEncodeError: it holds a lone surrogate.
    """
    body = text.encode("utf-8")
    return _HEAD.pack(len(body)) + body


class ToolError(Exception):
    """A tool call failed; ``code`` says how (``refused.call``, ``upstream.timeout``...)."""

    def __init__(self, message, code="upstream.tool_failed"):
        super().__init__(message)
        self.code = code


ToolError.__module__ = "mcp_client"  # where programs can import it from


class _LocalAnswers:
    """Stands in for the socket and answers the last call that was sent."""

    def sendall(self, data):
        self._call = _decode(data[_HEAD.size :].decode("utf-8"))

    def recv(self, size, flags=0):
        return make_frame(_encode(("value", self._call[2], None)))


class Channel:
    """The guest's end of the socket."""

    def __init__(self):
        self.sock = None
        self.nonce = None  # of the order that is being carried out
        self._takes_calls = False
        self._call_bytes = 0
        self._ids = itertools.count(1)
        self._buffer = bytearray()
        self._pending = {}  # call id -> PendingCall
        self.home = None  # the workspace, where files of results are written
        self._orders = []  # frames from the host that answer no call
        self._fds = []  # descriptors that came with them
        # Both can be taken twice by one thread: a signal handler of the program may call a tool at any moment.
        self._answered = threading.Condition(threading.RLock())  # guards _pending, _reader and PendingCall._done
        self._send_lock = threading.RLock()  # keeps frames of several threads from being mixed; guards nonce
        self._reader = None  # the thread that reads for all others
        self._waiting = 0  # threads that wait for the one that reads
        self._watched = {}  # event loops whose selector watches our socket
        self.unused_errors = []

    # -- frames ---------------------------------------------------------------------------------------------------------

    def send(self, name, nonce, *message):
        """Sends one frame."""
        self._send_frame(make_frame(_encode((name, nonce, *message))), nonce)

    def _send_frame(self, frame, nonce, pending=None):
        if self.sock is None:
            raise ToolError("tools can be called from the program's main process only, not from one that it forked")
        with self._send_lock:
            if nonce is None or nonce != self.nonce or (pending is not None and not self._takes_calls):
                raise ToolError("the program has ended: its tools cannot be called any more", "cancelled")
            if pending is not None:
                with self._answered:
                    self._pending[pending._number] = pending
            if len(frame) <= _SPLIT_BYTES:
                self.sock.sendall(frame)
                return
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
            try:
                self.sock.sendall(frame)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def begin(self, nonce, call_bytes, *first):
        """Begins to carry out an order of the host, with the frame ``first`` if there is one; frames carry its nonce from now on.

        The threads that an earlier program has left behind may call tools again, but not before that frame.
        """
        self._pending.clear()
        self.unused_errors.clear()
        self._call_bytes = call_bytes
        with self._send_lock:
            self.nonce = nonce
            if first:
                self.send(first[0], nonce, *first[1:])
            self._takes_calls = True

    def send_report(self, text):
        """Sends the closing frame, whose text is JSON already. No call leaves any more before it, and nothing after it."""
        with self._send_lock:
            self._takes_calls = False
        while self._pending:  # calls of threads: the host answers them all
            self.wait(next(iter(self._pending.values())))
        with self._send_lock:
            self.nonce = None  # before the frame: the host's next order must find no event loop of a thread that reads answers
            self.sock.sendall(make_frame(text))

    def next_order(self):
        """Waits for the host's next order; returns it and the descriptors that came with it.

        A thread that an earlier program left behind may still be reading: then that thread receives the order.
        """
        self._read_until(lambda: self._orders)
        with self._answered:
            fds, self._fds = self._fds, []
            return self._orders.pop(0), fds

    @contextlib.contextmanager
    def answer_calls_locally(self):
        """Answers the calls made in this context with None, at once; none is sent."""
        sock, self.sock = self.sock, _LocalAnswers()
        self.begin("", 1 << 20)
        try:
            yield
        finally:
            self.sock, self.nonce, self._takes_calls = sock, None, False

    def _receive(self):
        """Receives some bytes; descriptors that came with them are kept for ``next_order``."""
        if self.nonce is not None and threading.current_thread() is threading.main_thread():
            return self.sock.recv(1 << 16)  # an order, which may have descriptors, comes only after this thread's program
        data, fds, _, _ = socket.recv_fds(self.sock, 1 << 16, 2)
        self._fds.extend(fds)
        return data

    def _process_bytes(self, data):
        if not data:
            os._exit(0)  # the host has ended: end too
        self._buffer += data
        for message in self._split_frames():
            self._handle_message(message)

    def _split_frames(self):
        buffer, start = self._buffer, 0
        while len(buffer) - start >= 4:
            end = start + 4 + _HEAD.unpack_from(buffer, start)[0]
            if len(buffer) < end:
                break
            text = buffer[start + 4 : end].decode("utf-8")
            # Results only: what is in an order of the host, such as the context, stays as it is.
            yield decode_results(text) if text.startswith(_VALUE_FRAME) else _decode(text)
            start = end
        del buffer[:start]

    def _handle_message(self, message):
        if message[0] not in ("value", "error", "planned"):
            self._orders.append(message)
            return
        pending = self._pending.pop(message[1], None)
        if pending is None:
            return  # an answer to a call that was not made through this channel
        if message[0] == "value":
            pending.settle(message[2], self._write_files(message[3]) if len(message) > 3 else None)
        elif message[0] == "planned":
            pending.settle(PlannedResult(message[2], pending._tool), None)
        else:
            pending.settle(None, ToolError(message[3], message[2]))

    def _write_files(self, files):
        """Writes the files that came with an answer into the workspace; returns the error if that fails."""
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
        """Sends a call and returns at once with its pending answer."""
        nonce, number = self.nonce, next(self._ids)
        pending = PendingCall(self, tool, number)
        job = find_job()
        if job is not None and job.note_call(pending):
            raise ToolError("the program gave up this function: its tools cannot be called any more", "abandoned")
        frame = self._make_call_frame(nonce, number, tool, arguments, positional)  # raises before anything is registered or sent
        try:
            self._send_frame(frame, nonce, pending)
        except BaseException:
            self.abandon(pending)  # by an alarm of the program it may be interrupted after the frame was sent
            raise
        return pending

    def _make_call_frame(self, nonce, number, tool, arguments, positional):
        try:
            text = _encode(("call", nonce, number, tool, arguments, positional))
            check_call(tool, arguments, positional, text)
            frame = make_frame(text)
        except RecursionError:
            raise ValueError(explain_depth("a value")) from None
        except UnicodeEncodeError:
            asked = {**dict(enumerate(positional)), **arguments} if isinstance(arguments, dict) else arguments
            raise ValueError(describe_lone_surrogate(asked, f"the argument of {tool} at ")) from None
        if self.sock is not None and len(frame) - _HEAD.size > self._call_bytes:
            raise ToolError(
                f"the arguments of {tool} take {len(frame):,} bytes as JSON, more than call_bytes = {self._call_bytes:,}",
                "limit.call_bytes",
            )
        return frame

    def abandon(self, pending):
        """Leaves a call behind: its answer is not waited for any more, and the host is told so."""
        with self._answered:
            if self._pending.pop(pending._number, None) is None:
                return
            pending._observed = True
            pending.settle(None, ToolError(f"the program gave up this call of {pending._tool}", "abandoned"))
        nonce = self.nonce
        if nonce is not None:
            with contextlib.suppress(ToolError, OSError):
                self.send("abandon", nonce, pending._number)

    def wait(self, pending):
        """Waits until ``pending`` is answered."""
        self._read_until(lambda: pending._done)

    def _read_until(self, is_done):
        """Reads frames until ``is_done`` says so. The first thread that waits reads for all others."""
        answered, me = self._answered, threading.get_ident()
        while True:
            data, reading = None, False
            try:
                with answered:
                    while self._reader is not None and not is_done():
                        if self._reader == me:
                            raise RuntimeError(
                                "a signal handler cannot wait for a tool while the program it interrupted waits for one: "
                                "note in the handler what is to be done, and call the tool afterwards"
                            )
                        self._waiting += 1
                        try:
                            answered.wait()
                        finally:
                            self._waiting -= 1
                    if is_done():
                        return
                    self._reader, reading = me, True
                data = self._receive()
            finally:
                if reading:
                    with answered:
                        self._take_bytes(data)

    def _take_bytes(self, data):
        """Processes what the reading thread has received (None: it was interrupted), and lets other threads read."""
        try:
            if data is not None:
                self._process_bytes(data)
        finally:
            self._reader = None  # not earlier: a signal handler of the program could otherwise read what comes next
            if self._waiting:
                self._answered.notify_all()

    def watch(self, loop):
        """Lets ``loop`` read answers for its own waiters while it runs."""
        if loop not in self._watched:
            loop.add_reader(self.sock.fileno(), self._readable)
            self._watched[loop] = True

    def unwatch(self, loop):
        """Stops reading in a loop that ends."""
        if self._watched.pop(loop, None) and not loop.is_closed():
            loop.remove_reader(self.sock.fileno())

    def _readable(self):
        with self._answered:
            if self._reader is not None or self.nonce is None:
                return  # a thread is reading and will wake us, or an order comes, which the main thread reads
            self._reader, data = threading.get_ident(), None
            try:
                with contextlib.suppress(BlockingIOError):
                    data = self.sock.recv(1 << 16, socket.MSG_DONTWAIT)
            finally:
                self._take_bytes(data)

    def settle_all(self):
        """Waits for every call that was sent, since none may be cut off because its answer was not used. Returns the failed calls
        whose errors the program has not seen."""
        # Of those sent by now: a thread of the program may send others without end.
        for pending in list(self._pending.values()):
            self.wait(pending)
        errors, self.unused_errors = self.unused_errors, []
        return [pending for pending in errors if not pending._observed]

    def close(self):
        """Closes the socket for good."""
        sock, self.sock = self.sock, None
        if sock is not None:
            os.close(sock.detach())

    def open(self, fd):
        """Uses this descriptor as the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fd)

    def branch(self, fd):
        """Uses another socket from now on: this process is a fork of the session that the old socket belongs to."""
        home = self.home
        self.close()
        self.__init__()
        self.home = home
        self.open(fd)
