"""Foreign exceptions become ours, by one table."""

import anyio
import httpx2
import pytest
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, INVALID_REQUEST, REQUEST_TIMEOUT

from gristmill.errors import CallRefused, Error, ToolFailed, UpstreamError, UpstreamTimeout, UpstreamUnavailable
from gristmill.upstream.mcp.translate_errors import TOO_LARGE, shorten_to_line, translate_error

TABLE: list[tuple[BaseException, type[Error]]] = [
    (MCPError(REQUEST_TIMEOUT, "late"), UpstreamTimeout),
    (MCPError(CONNECTION_CLOSED, "gone"), UpstreamUnavailable),
    (MCPError(INVALID_REQUEST, "Session terminated"), UpstreamUnavailable),
    (MCPError(INVALID_REQUEST, "Sampling not supported"), UpstreamError),
    (MCPError(TOO_LARGE, "big"), UpstreamError),
    (MCPError(INVALID_PARAMS, "no such tool"), ToolFailed),
    (TimeoutError(), UpstreamTimeout),
    (httpx2.ReadTimeout("late"), UpstreamTimeout),
    (httpx2.ConnectError("refused"), UpstreamUnavailable),
    (OAuthFlowError("who?"), UpstreamUnavailable),
    (anyio.ClosedResourceError(), UpstreamUnavailable),
    (OSError("no file"), UpstreamUnavailable),
    (ExceptionGroup("a", [ExceptionGroup("b", [httpx2.ConnectError("refused")])]), UpstreamUnavailable),
]


@pytest.mark.parametrize(("foreign", "ours"), TABLE)
def test_each_has_its_place(foreign: BaseException, ours: type[Error]) -> None:
    assert type(translate_error(foreign, "s")) is ours


def test_ours_pass_unchanged_even_from_a_group() -> None:
    error = CallRefused("no", rule="r")
    assert translate_error(ExceptionGroup("a", [error]), "s") is error


def test_a_message_is_one_line_of_a_length_that_fits() -> None:
    assert shorten_to_line("a\n  b\tc") == "a b c"
    assert len(shorten_to_line("x" * 10_000)) == 500
