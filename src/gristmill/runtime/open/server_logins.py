"""Logs in to a configured server, and out again."""

from typing import TYPE_CHECKING

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.near_names import find_near_names
from gristmill.runtime.open.open_secrets import open_secret_references
from gristmill.runtime.open.open_servers import open_token_store

if TYPE_CHECKING:
    from gristmill.upstream.login.browser_login import ShowAddress


async def log_in(config: Config, server: str, show: "ShowAddress", *, seconds: float) -> int:
    """Logs in with a person at a browser; ``show`` gets the address to visit. Returns how many tools the server has.

    Raises:
        NotFound: there is no such server; the error carries near names.
        ConfigError: this server has no login.
        UpstreamError: the login failed or took too long.
    """
    # Imported here: it loads the MCP SDK, which a logout does not need.
    from gristmill.upstream.login.browser_login import log_in_with_browser

    secrets = open_secret_references(config.state_dir)
    return await log_in_with_browser(
        server,
        _find_server(config, server),
        secrets,
        lambda name: open_token_store(config.state_dir, name),
        show,
        seconds=seconds,
    )


def log_out(config: Config, server: str) -> bool:
    """Deletes the tokens of ``server``; returns whether there were any.

    Raises:
        NotFound: there is no such server; the error carries near names.
    """
    _find_server(config, server)
    return open_token_store(config.state_dir, server).forget()


def _find_server(config: Config, name: str) -> ServerConfig:
    if name not in config.servers:
        raise NotFound(f"there is no server {name[:80]!r} in the configuration", near=find_near_names(name, config.servers))
    return config.servers[name]
