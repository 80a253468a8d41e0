"""Reads the messages that a server's program writes to its standard output, one per line."""

import logging
from collections.abc import Callable

from anyio.abc import ByteReceiveStream
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId
from msgspec import Struct

from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.line_splitter import LineSplitter, LineTooLong
from gristmill.upstream.mcp.message_id import looks_like_message
from gristmill.upstream.mcp.wire_messages import MessageRefused, parse_message

log = logging.getLogger(__name__)

_NOISE_CAP = 1_000_000
"""How many bytes that are not messages may come in a row before we give up on a server."""

_OVERLONG_BYTES = 256_000_000
"""How many bytes past the cap are read to find the end of a line, so that only the call of that line fails."""

Inbound = MemoryObjectSendStream[SessionMessage | Exception]


class WaitingRequests:
    """The ids of our requests that have no answer yet. An answer that cannot be read, and whose id is unknown, fails them all."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()

    def note_sent(self, message: JSONRPCMessage) -> None:
        """Notes a message that we send: a request waits, a cancelled one no longer does."""
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._ids.discard((message.params or {}).get("requestId", ""))

    def note_received(self, message: JSONRPCMessage) -> None:
        """Notes a message of the server: an answer ends the waiting of its request."""
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)

    def refuse_answer(self, refused: MessageRefused) -> list[JSONRPCError]:
        """Returns errors for the requests that the refused answer may belong to."""
        waiting = [*self._ids] if refused.request_id is None else [refused.request_id]
        return [refused.make_error(request_id) for request_id in waiting]


class StdoutReader(Struct, frozen=True, kw_only=True):
    """How the output of one program is read."""

    cap: int
    """Largest line, in bytes."""
    limits: JsonLimits
    waiting: WaitingRequests
    note_stray_line: Callable[[bytes], None]
    """Gets the lines that are not messages."""

    async def forward_messages(self, stdout: ByteReceiveStream, inbound: Inbound) -> None:
        """Reads messages and sends them to ``inbound`` until the output ends, or until it holds too much that is no message."""
        lines, noise = LineSplitter(self.cap), 0
        while noise <= _NOISE_CAP and lines.pending_bytes <= self.cap + _OVERLONG_BYTES:
            for line in lines.feed(await stdout.receive()):
                messages = await self._read_line(line)
                noise = 0 if messages else noise + _count_noise(line)
                for message in messages:
                    self.waiting.note_received(message)
                    await inbound.send(SessionMessage(message))

    async def _read_line(self, line: bytes | LineTooLong) -> list[JSONRPCMessage]:
        """Returns the messages that a line stands for: one as a rule, or errors for the calls whose answer is refused."""
        try:
            message = None if isinstance(line, LineTooLong) else await parse_message(line, self.limits)
            if isinstance(line, LineTooLong) and line.is_answer:
                reason = f"its {line.size:,} bytes are more than the {self.cap:,} that are allowed"
                raise MessageRefused(reason, request_id=line.id, setting="message_mb")
        except MessageRefused as refused:
            return list[JSONRPCMessage](self.waiting.refuse_answer(refused))
        if message is None and not isinstance(line, LineTooLong) and _count_noise(line):
            # Servers print banners and warnings to stdout; their content may be private, so only the size is logged.
            log.debug("skipped %d bytes on stdout that are no message", len(line))
            self.note_stray_line(line)
        return [] if message is None else [message]


def _count_noise(line: bytes | LineTooLong) -> int:
    """Returns how many bytes of a line that was dropped are no message.

    A notification or a question that exceeds our limits is a message: it must not close the connection of its server.
    """
    if isinstance(line, LineTooLong):
        return 0 if line.is_message else line.size
    return 0 if looks_like_message(line, line) else 1 + len(line)
