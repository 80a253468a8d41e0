"""The one table from foreign exceptions to ours. Nothing of the SDK, of httpx or of the system leaves this room."""

from collections.abc import Iterator
from typing import cast

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
from gristmill.upstream.short_text import one_line

TOO_LARGE = -32_098
"""Our own JSON-RPC code for an answer past the cap; never on the wire."""

SESSION_LOST = "Session terminated"

_REFUSED = {
    "Sampling not supported": "asked us to sample a model, which Gristmill does not do",
    "List roots not supported": "asked for our roots, which Gristmill does not share",
    "Elicitation not supported": "asked for input, and nobody here can answer it",
}


def translate(error: BaseException, server: str) -> Error:
    """Our error for a foreign one; ours pass unchanged."""
    leaf = next(_leaves(error))
    if isinstance(leaf, Error):
        return leaf
    if isinstance(leaf, MCPError):
        return _from_protocol(leaf, server)
    if isinstance(leaf, TimeoutError | httpx2.TimeoutException):
        return UpstreamTimeout(f"{server} did not answer in time")
    if isinstance(leaf, OAuthFlowError):
        return UpstreamUnavailable(f"{server} wants a login ({one_line(str(leaf))}): run gristmill login {server}")
    if isinstance(leaf, InputRequiredRoundsExceededError):
        return UpstreamError(f"{server} kept asking for input and never answered the call")
    if isinstance(leaf, httpx2.StreamError):
        return UpstreamError(f"{server}: {one_line(str(leaf))}; raise message_mb under [servers.{server}] to read it")
    if isinstance(leaf, ValidationError | UnicodeDecodeError):
        return UpstreamError(f"{server} answered something that is not MCP ({type(leaf).__name__})")
    if isinstance(leaf, anyio.ClosedResourceError | anyio.BrokenResourceError | anyio.EndOfStream):
        return UpstreamUnavailable(f"{server} closed the connection")
    return UpstreamUnavailable(f"{server} cannot be reached: {one_line(str(leaf)) or type(leaf).__name__}")


def died_on_probe(error: BaseException) -> bool:
    """Whether the server hung up, as some do on a method from after their time."""
    closed = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
    return any(
        isinstance(leaf, closed) or (isinstance(leaf, MCPError) and leaf.code == CONNECTION_CLOSED) for leaf in _leaves(error)
    )


def wants_newer(error: BaseException) -> bool:
    """Whether the server refused the handshake because it only speaks the newest revision."""
    return any(isinstance(leaf, MCPError) and leaf.code == UNSUPPORTED_PROTOCOL_VERSION for leaf in _leaves(error))


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that only a new one helps."""
    return isinstance(error, MCPError) and (error.code == CONNECTION_CLOSED or error.message == SESSION_LOST)


def _from_protocol(error: MCPError, server: str) -> Error:
    message = one_line(error.message)
    if error.code == REQUEST_TIMEOUT:
        return UpstreamTimeout(f"{server} did not answer in time")
    if error.code == CONNECTION_CLOSED or error.message == SESSION_LOST:
        return UpstreamUnavailable(f"{server} closed the connection: {message}")
    if error.code == PARSE_ERROR:
        return UpstreamError(f"{server} answered something that cannot be read: {message}")
    if error.code == TOO_LARGE:
        return UpstreamError(f"{server}: {message}; raise message_mb under [servers.{server}] to read it")
    if error.code == INVALID_REQUEST and error.message in _REFUSED:
        return UpstreamError(f"{server} {_REFUSED[error.message]}")
    if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return UpstreamError(f"{server} needs something of us that is not on offer here: {message}")
    return ToolFailed(message or f"{server} answered with error {error.code}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
