"""The one table from foreign exceptions to ours. Exceptions of the SDK, of httpx and of the system do not leave this room."""

from collections.abc import Callable, Iterator
from typing import cast, get_args

import anyio
import httpx2
from mcp.client import InputRequiredRoundsExceededError
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from pydantic import ValidationError

from gristmill.errors import Error, ToolFailed, UpstreamError, UpstreamTimeout, UpstreamUnavailable
from gristmill.upstream.json_limits import LimitSetting
from gristmill.upstream.short_text import shorten_to_line

TOO_LARGE = -32_098
"""Our own JSON-RPC code for an answer that is refused; its ``data`` is the setting that helps, if one does. It is never sent."""

SESSION_LOST = "Session terminated"

_UNSUPPORTED_REQUESTS = {
    "Sampling not supported": "asked us to sample a model, which Gristmill does not do",
    "List roots not supported": "asked for our roots, which Gristmill does not share",
    "Elicitation not supported": "asked for input, and the caller cannot answer it",
}


def mask_error(error: Error, mask: Callable[[str], str]) -> Error:
    """Returns ``error`` with its text masked; the same object if nothing in it is masked."""
    text = mask(str(error))
    return error if text == str(error) else type(error)(text)


def translate_error(error: BaseException, server: str) -> Error:
    """Returns our error for a foreign one; our own errors are returned unchanged."""
    leaf = next(_iterate_leaves(error))
    if isinstance(leaf, Error):
        return leaf
    if isinstance(leaf, MCPError):
        return _translate_protocol_error(leaf, server)
    if isinstance(leaf, TimeoutError | httpx2.TimeoutException):
        return UpstreamTimeout(f"{server} did not answer in time")
    if isinstance(leaf, OAuthFlowError):
        return UpstreamUnavailable(f"{server} wants a login ({shorten_to_line(str(leaf))}): run gristmill login {server}")
    if isinstance(leaf, InputRequiredRoundsExceededError):
        return UpstreamError(f"{server} kept asking for input and never answered the call")
    if isinstance(leaf, httpx2.StreamError):
        return UpstreamError(f"{server}: {shorten_to_line(str(leaf))}; raise message_mb under [servers.{server}] to read it")
    if isinstance(leaf, ValidationError | UnicodeDecodeError):
        return UpstreamError(f"{server} answered something that is not MCP ({type(leaf).__name__})")
    if isinstance(leaf, anyio.ClosedResourceError | anyio.BrokenResourceError | anyio.EndOfStream):
        return UpstreamUnavailable(f"{server} closed the connection")
    return UpstreamUnavailable(f"{server} cannot be reached: {shorten_to_line(str(leaf)) or type(leaf).__name__}")


def server_hung_up(error: BaseException) -> bool:
    """Whether the server closed the connection, as some do when they get a method that is newer than they are."""
    closed = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
    return any(
        isinstance(leaf, closed) or (isinstance(leaf, MCPError) and leaf.code == CONNECTION_CLOSED)
        for leaf in _iterate_leaves(error)
    )


def wants_newer_protocol(error: BaseException) -> bool:
    """Whether the server refused the handshake because it speaks only the newest revision."""
    return any(isinstance(leaf, MCPError) and leaf.code == UNSUPPORTED_PROTOCOL_VERSION for leaf in _iterate_leaves(error))


def is_connection_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that only a new one helps."""
    return isinstance(error, MCPError) and (error.code == CONNECTION_CLOSED or error.message == SESSION_LOST)


def _translate_protocol_error(error: MCPError, server: str) -> Error:
    message = shorten_to_line(error.message)
    if error.code == REQUEST_TIMEOUT:
        return UpstreamTimeout(f"{server} did not answer in time")
    if error.code == CONNECTION_CLOSED or error.message == SESSION_LOST:
        return UpstreamUnavailable(f"{server} closed the connection: {message}")
    if error.code == PARSE_ERROR:
        return UpstreamError(f"{server} answered something that cannot be read: {message}")
    if error.code == TOO_LARGE:
        setting = error.error.data if error.error.data in get_args(LimitSetting) else None
        return UpstreamError(
            f"{server}: {message}" + (f"; raise {setting} under [servers.{server}] to read it" if setting else "")
        )
    if error.code == INVALID_REQUEST and error.message in _UNSUPPORTED_REQUESTS:
        return UpstreamError(f"{server} {_UNSUPPORTED_REQUESTS[error.message]}")
    if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return UpstreamError(f"{server} needs a client capability that is not offered here: {message}")
    return ToolFailed(message or f"{server} answered with error {error.code}")


def _iterate_leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _iterate_leaves(inner)
    else:
        yield error
