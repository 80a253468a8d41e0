"""Logs in to a server once, with a person at a browser."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.events import ignore_event
from gristmill.upstream.build_server import make_http_address
from gristmill.upstream.http.http_transport import make_http_transport, make_sse_transport
from gristmill.upstream.listing.list_tools import list_tools
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.login.oauth_login import LoginBrowser, listen_for_browser
from gristmill.upstream.mcp.mcp_connection import ConnectionHooks, open_connection
from gristmill.upstream.mcp.translate_errors import translate_error
from gristmill.upstream.secret_references import SecretReferences
from gristmill.upstream.surroundings import OpenTokenStore

ShowAddress = Callable[[str], Awaitable[None]]
"""Shows the person the address that they must visit."""

_SLACK_SECONDS = 60.0
"""Seconds added to the person's time: for discovery, the exchange of tokens and the listing."""


async def log_in_with_browser(
    name: str,
    config: ServerConfig,
    secrets: SecretReferences,
    tokens: OpenTokenStore,
    show: ShowAddress,
    *,
    seconds: float = 300.0,
) -> int:
    """Logs in to a server once, with a person at a browser; returns how many tools the server then offers.

    Raises:
        UpstreamError: the login or the listing failed, or took longer than ``seconds``.
        ConfigError: the server is not configured for a login.
    """
    if config.oauth is None or config.url is None:
        raise ConfigError(f"{name} is not set up for a login: write oauth = {{}} under [servers.{name}], next to its url")
    try:
        with anyio.fail_after(seconds + _SLACK_SECONDS):
            async with listen_for_browser(show, port=config.oauth.callback_port, seconds=seconds) as browser:
                return await _log_in_and_list(name, config, secrets, tokens, browser)
    except Exception as error:  # the edge of this room: every foreign exception is translated here
        raise translate_error(error, name) from None


async def _log_in_and_list(
    name: str, config: ServerConfig, secrets: SecretReferences, tokens: OpenTokenStore, browser: LoginBrowser
) -> int:
    """Lists the server's tools: the first request starts the login, and the listing proves that it worked."""
    hooks = ConnectionHooks(server=name, emit=ignore_event)
    address = await anyio.to_thread.run_sync(make_http_address, name, config, secrets, tokens, browser)
    transport = make_sse_transport if config.kind == "sse" else make_http_transport
    async with open_connection(lambda: transport(address), "auto", hooks) as connection:
        return len(await list_tools(connection.client, name, ToolFilter()))
