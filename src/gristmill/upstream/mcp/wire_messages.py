"""Parses JSON-RPC messages of servers: limits are checked first, and large messages are parsed in a thread.

The SDK's own parser builds a model of each content block on the event loop: 800,000 empty blocks (26 MB) took 970 MB and 11 s.
"""

import json
import logging
from typing import Any, Literal, cast

import anyio.to_thread
import msgspec
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from msgspec.structs import replace

from gristmill.model import Json
from gristmill.upstream.json_limits import JsonLimits, JsonRefused, LimitSetting, check_json
from gristmill.upstream.listing.schema_depth import is_shallow
from gristmill.upstream.mcp.message_id import find_message_id, looks_like_answer
from gristmill.upstream.mcp.translate_errors import TOO_LARGE
from gristmill.upstream.short_text import shorten_to_line

log = logging.getLogger(__name__)

LARGE_BYTES = 256_000
"""Messages from this size on are parsed in a thread. Smaller ones take less time than starting a thread takes."""

_MOST_LISTING_LEVELS = 512
"""Levels of a list of tools. A tool that is nested too deeply is left out of it, and the other tools can be used."""

_MOST_LISTING_VALUES = 100_000
"""Values in one page of a tool list. The SDK checks a page in one step, 2 microseconds per value."""


class LargeResponse(JSONRPCResponse):
    """The answer to a request that came as a large message: work on it belongs into a thread."""


class MessageRefused(Exception):
    """A message is not read.

    ``request_id`` is the id of the request that it answers, if it was found; ``setting`` raises the limit that was exceeded.
    """

    def __init__(self, reason: str, *, request_id: RequestId | None, setting: LimitSetting | None = None) -> None:
        super().__init__(reason)
        self.request_id = request_id
        self.setting: LimitSetting | None = setting

    def make_error(self, request_id: RequestId) -> JSONRPCError:
        """Returns the answer that the request gets instead."""
        return make_refusal(str(self), request_id, self.setting)


class _ErrorPart(msgspec.Struct):
    code: int
    message: str
    data: Any = None


class _Message(msgspec.Struct):
    """Any JSON-RPC message. Which fields are set says which kind it is."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str | None = None
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: _ErrorPart | None = None


_decoder = msgspec.json.Decoder(_Message)


async def parse_message(text: bytes, limits: JsonLimits) -> JSONRPCMessage | None:
    """Parses one message, in a thread if it is large.

    Returns None for text that is no message, and for a notification or a question of the server that exceeds the limits: no
    call waits for it.

    Raises:
        MessageRefused: it is an answer that exceeds the limits, or that cannot be read.
    """
    if len(text) < LARGE_BYTES:
        return _parse(text, limits)
    return await anyio.to_thread.run_sync(_parse_large, text, limits)


def make_refusal(reason: str, request_id: RequestId, setting: LimitSetting | None) -> JSONRPCError:
    """Returns the answer that a request gets when its real answer is not read."""
    error = ErrorData(code=TOO_LARGE, message=f"the answer was refused: {reason}", data=setting)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _parse_large(text: bytes, limits: JsonLimits) -> JSONRPCMessage | None:
    message = _parse(text, limits)
    if isinstance(message, JSONRPCError):
        return message
    if not isinstance(message, JSONRPCResponse):
        return None
    if isinstance(message.result.get("tools"), list):
        _check_listing(text, message.id)
    return LargeResponse.model_construct(jsonrpc="2.0", id=message.id, result=message.result)


def _check_listing(text: bytes, request_id: RequestId) -> None:
    try:
        check_json(text, JsonLimits(values=_MOST_LISTING_VALUES, levels=_MOST_LISTING_LEVELS))
    except JsonRefused as refused:
        raise MessageRefused(f"one page of the list of tools is too large: {refused}", request_id=request_id) from None


def _parse(text: bytes, limits: JsonLimits) -> JSONRPCMessage | None:
    try:
        size = check_json(text, replace(limits, levels=_MOST_LISTING_LEVELS))
        message = _make_message(_decode(text))
        if size.levels > limits.levels:
            _check_deep_message(message, text, limits)
        return message
    except JsonRefused as refused:
        reason, setting = str(refused), refused.setting
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        reason, setting = f"it cannot be read ({shorten_to_line(str(error))})", None
    if not looks_like_answer(text, text):
        return None
    raise MessageRefused(reason, request_id=find_message_id(text, text), setting=setting)


def _check_deep_message(message: JSONRPCMessage, text: bytes, limits: JsonLimits) -> None:
    """Leaves tools that are nested too deeply out of a listing, so that the others can be used; checks any other message.

    Raises:
        JsonRefused: it is nested too deeply.
    """
    tools = message.result.get("tools") if isinstance(message, JSONRPCResponse) else None
    if not isinstance(message, JSONRPCResponse) or not isinstance(tools, list):
        check_json(text, limits)
        return
    known = cast("list[Json]", tools)
    kept = [tool for tool in known if is_shallow(tool)]
    check_json(msgspec.json.encode(message.result | {"tools": kept}), limits)
    if len(kept) < len(known):
        log.warning("%d of %d tools are left out: they are nested too deeply", len(known) - len(kept), len(known))
    message.result["tools"] = kept


def _decode(text: bytes) -> _Message:
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        # Python servers write NaN and Infinity, which are not JSON. They become None, as everywhere between server and code.
        if b"NaN" not in text and b"Infinity" not in text:
            raise
        return msgspec.convert(json.loads(text, parse_constant=lambda _: None), _Message)


def _make_message(found: _Message) -> JSONRPCMessage:
    # Built without the models' own checks: the types are checked already, and the checks would copy the values.
    if found.method is not None and found.id is not None:
        return JSONRPCRequest.model_construct(jsonrpc="2.0", id=found.id, method=found.method, params=found.params)
    if found.method is not None:
        return JSONRPCNotification.model_construct(jsonrpc="2.0", method=found.method, params=found.params)
    if found.error is not None:
        error = ErrorData.model_construct(code=found.error.code, message=found.error.message, data=found.error.data)
        return JSONRPCError.model_construct(jsonrpc="2.0", id=found.id, error=error)
    if found.result is None or found.id is None:
        raise ValueError("it has neither a method nor a result")
    return JSONRPCResponse.model_construct(jsonrpc="2.0", id=found.id, result=found.result)
