"""Logging in to a server once, with a person at a browser."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.events import ignore
from gristmill.upstream.build_server import address_of
from gristmill.upstream.http.http_transport import http_transport, sse_transport
from gristmill.upstream.login.oauth_login import Browser, open_browser
from gristmill.upstream.mcp.list_tools import list_tools
from gristmill.upstream.mcp.mcp_connection import Hooks, open_connection
from gristmill.upstream.mcp.translate_errors import translate
from gristmill.upstream.secret_references import Secrets
from gristmill.upstream.surroundings import Tokens
from gristmill.upstream.tool_filter import Filter

Show = Callable[[str], Awaitable[None]]
"""Gets the address that the person must visit."""

_SLACK_SECONDS = 60.0
"""Beyond the time for the person: discovery, the exchange of tokens and the listing."""


async def login(name: str, config: ServerConfig, secrets: Secrets, tokens: Tokens, show: Show, *, seconds: float = 300.0) -> int:
    """Log in to a server once, with a person at a browser; returns how many tools it then offers.

    Raises:
        UpstreamError: the login or the listing failed, or took longer than ``seconds``.
        ConfigError: the server is not one to log in to.
    """
    if config.oauth is None or config.url is None:
        raise ConfigError(f"{name} is not set up for a login: write oauth = {{}} under [servers.{name}], next to its url")
    try:
        with anyio.fail_after(seconds + _SLACK_SECONDS):
            async with open_browser(show, port=config.oauth.callback_port, seconds=seconds) as browser:
                return await _list_behind(name, config, secrets, tokens, browser)
    except Exception as error:  # the edge of this room
        raise translate(error, name) from None


async def _list_behind(name: str, config: ServerConfig, secrets: Secrets, tokens: Tokens, browser: Browser) -> int:
    """The first request is what starts the login; a listing is proof that it worked."""
    hooks = Hooks(server=name, emit=ignore)
    address = await anyio.to_thread.run_sync(address_of, name, config, secrets, tokens, browser)
    transport = sse_transport if config.kind == "sse" else http_transport
    async with open_connection(lambda: transport(address), "auto", hooks) as connection:
        return len(await list_tools(connection.client, name, Filter()))
