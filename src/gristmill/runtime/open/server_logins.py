"""Logging in to a configured server, and out again."""

import os

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.near_names import near_names
from gristmill.runtime.open.open_servers import read_keyring, token_store
from gristmill.upstream.login.browser_login import Show, login
from gristmill.upstream.secret_references import Secrets


async def log_in(config: Config, server: str, show: Show, *, seconds: float) -> int:
    """Log in with a person at a browser; ``show`` gets the address to visit. Returns how many tools the server has.

    Raises:
        NotFound: no such server; carries near names.
        ConfigError: the server is not one to log in to.
        UpstreamError: the login failed or took too long.
    """
    secrets = Secrets(environ=dict(os.environ), keyring=read_keyring)
    return await login(
        server, _server(config, server), secrets, lambda name: token_store(config.state_dir, name), show, seconds=seconds
    )


def log_out(config: Config, server: str) -> bool:
    """Forget the tokens of ``server``; whether there were any.

    Raises:
        NotFound: no such server; carries near names.
    """
    _server(config, server)
    return token_store(config.state_dir, server).forget()


def _server(config: Config, name: str) -> ServerConfig:
    if name not in config.servers:
        raise NotFound(f"there is no server {name[:80]!r} in the configuration", near=near_names(name, config.servers))
    return config.servers[name]
