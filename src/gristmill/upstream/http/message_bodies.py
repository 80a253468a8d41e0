"""Reads the messages in the bodies of HTTP answers before the SDK does: checks them, and parses large ones in a thread.

The SDK parses on the event loop and writes every event of a stream into a text for its log. Of a large message it gets a small
stand-in; ``HeldMessages`` puts the message in its place when the SDK has passed the stand-in on.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator

import httpx2
import msgspec
from mcp.client.auth import OAuthFlowError
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse, RequestId
from msgspec import Struct

from gristmill.upstream.json_limits import JsonLimits, JsonRefused, check_json
from gristmill.upstream.line_splitter import LineSplitter, LineTooLong
from gristmill.upstream.mcp.wire_messages import LARGE_BYTES, LargeResponse, MessageRefused, parse_message

_KEY = "gristmill/held"
_LOGIN_BYTES = 256_000
_LOGIN_LIMITS = JsonLimits(values=10_000, levels=32)
_HOLD_SECONDS = 10.0
"""The SDK passes a stand-in on at once, or never, if its call was given up."""


class HeldMessages:
    """The large messages of one connection whose stand-ins are on their way through the SDK."""

    def __init__(self) -> None:
        self._held: dict[str, JSONRPCResponse] = {}

    def hold(self, message: JSONRPCResponse) -> bytes:
        """Holds ``message`` for a few seconds; returns its stand-in as JSON."""
        token = secrets.token_hex(16)
        self._held[token] = message
        asyncio.get_running_loop().call_later(_HOLD_SECONDS, self._held.pop, token, None)
        return msgspec.json.encode({"jsonrpc": "2.0", "id": message.id, "result": {_KEY: token}})

    async def restore(self, answer: JSONRPCResponse) -> JSONRPCResponse:
        """Returns the message for which ``answer`` is the stand-in; any other answer is returned unchanged."""
        token = answer.result.get(_KEY)
        held = self._held.pop(token, None) if isinstance(token, str) else None
        # The SDK may have given the stand-in another id: that of the request whose stream it came on.
        return LargeResponse.model_construct(jsonrpc="2.0", id=answer.id, result=held.result) if held else answer


class BodyRules(Struct, frozen=True, kw_only=True):
    """How the body of one answer is read."""

    cap: int
    """Largest message, in bytes."""
    limits: JsonLimits
    held: HeldMessages
    request_id: RequestId | None
    """The id of the request that is answered; unknown for streams on which a server speaks first."""

    async def check_message(self, text: bytes) -> bytes:
        """Returns the message as the SDK gets it: unchanged, as a stand-in, or replaced by an error; empty if it is dropped."""
        if len(text) < LARGE_BYTES and self._is_harmless(text):
            return text  # the SDK parses it; it need not be a message: answers to a login come this way too
        try:
            message = await parse_message(text, self.limits)
        except MessageRefused as refused:
            return self._refuse(refused)
        if isinstance(message, JSONRPCResponse):
            return self.held.hold(message)
        if isinstance(message, JSONRPCError):
            return _encode_message(message)
        return b""

    def refuse_other(self) -> bytes:
        """Returns the error for a body that should be an answer and is none."""
        return self._refuse(MessageRefused("it is not an answer of MCP", request_id=None))

    def refuse_size(self, request_id: RequestId | None = None) -> bytes:
        """Returns the error for a message that is larger than the cap."""
        reason = f"it is larger than the {self.cap:,} bytes that are allowed"
        return self._refuse(MessageRefused(reason, request_id=request_id, setting="message_mb"))

    def _is_harmless(self, text: bytes) -> bool:
        try:
            check_json(text, self.limits)
        except JsonRefused:
            return False
        return True

    def _refuse(self, refused: MessageRefused) -> bytes:
        """Returns the error that the caller gets instead of the message; empty if no call waits for it."""
        request_id = refused.request_id if self.request_id is None else self.request_id
        return b"" if request_id is None else _encode_message(refused.make_error(request_id))


class LoginBody(httpx2.AsyncByteStream):
    """The body of an answer in a login, such as metadata or a token. The SDK parses it in one step on the event loop."""

    def __init__(self, stream: httpx2.AsyncByteStream, host: str) -> None:
        self._stream = stream
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        text = bytearray()
        async for part in self._stream:
            text += part
            if len(text) > _LOGIN_BYTES:
                raise OAuthFlowError(f"the answer of {self._host} is larger than {_LOGIN_BYTES:,} bytes")
        try:
            check_json(bytes(text), _LOGIN_LIMITS)
        except JsonRefused as refused:
            raise OAuthFlowError(f"the answer of {self._host} was refused: {refused}") from None
        yield bytes(text)

    async def aclose(self) -> None:
        await self._stream.aclose()


class MessageBody(httpx2.AsyncByteStream):
    """A body that is one message. It is read whole, at most up to the cap."""

    def __init__(self, stream: httpx2.AsyncByteStream, rules: BodyRules) -> None:
        self._stream = stream
        self._rules = rules

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts, size = list[bytes](), 0
        async for part in self._stream:
            parts.append(part)
            size += len(part)
            if size > self._rules.cap:
                yield self._rules.refuse_size()
                return
        text = b"".join(parts)
        checked = await self._rules.check_message(text)
        yield self._rules.refuse_other() if text and not checked else checked

    async def aclose(self) -> None:
        await self._stream.aclose()


class EventBody(httpx2.AsyncByteStream):
    """A body that is a stream of server-sent events with one message each.

    The events are written anew, field by field: the SDK must not read them in another way than they were checked.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, rules: BodyRules) -> None:
        self._stream = stream
        self._rules = rules

    async def __aiter__(self) -> AsyncIterator[bytes]:
        lines, event, last = LineSplitter(self._rules.cap), _Event(self._rules), b""
        async for part in self._stream:
            # A line ends with CR LF, LF or CR. A CR at the end of a part is held back: its LF may come with the next part.
            text = last + part
            last = b"\r" if text.endswith(b"\r") else b""
            text = text[: len(text) - len(last)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            for line in lines.feed(text):
                if line:
                    event.add_line(line)
                elif written := await event.write():
                    yield written

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Event:
    """The event that is being read."""

    def __init__(self, rules: BodyRules) -> None:
        self._rules = rules
        self._clear()

    def _clear(self) -> None:
        self._fields: dict[bytes, bytes] = {}
        self._data: list[bytes] = []
        self._size = 0
        self._error: bytes | None = None

    def add_line(self, line: bytes | LineTooLong) -> None:
        if isinstance(line, LineTooLong):
            # No call waits for a notification or a question of the server: it is dropped.
            self._error = self._rules.refuse_size(line.id) if line.is_answer or not line.is_message else b""
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        self._size += len(line)
        if self._size > self._rules.cap:
            self._error = self._error or self._rules.refuse_size()
            self._data.clear()
        elif name == b"data":
            self._data.append(value)
        elif name in (b"event", b"id", b"retry"):
            self._fields[name] = value

    async def write(self) -> bytes:
        """Returns the event as the SDK gets it, and begins the next one. An event without fields is empty."""
        fields, data, error = self._fields, self._data, self._error
        self._clear()
        if error is not None:
            data = [error] if error else []
        elif fields.get(b"event", b"message") != b"message":
            data = data if sum(map(len, data)) < LARGE_BYTES else []
        elif any(data):  # an event without content only tells its id
            checked = await self._rules.check_message(b"\n".join(data))
            data = checked.split(b"\n") if checked else []
        lines = [b"%s: %s\n" % field for field in fields.items()] + [b"data: %s\n" % line for line in data]
        return b"".join(lines) + b"\n" if lines else b""


def _encode_message(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
