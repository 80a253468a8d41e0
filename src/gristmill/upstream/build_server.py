"""A configuration becomes one upstream: where the files of this room meet that need the MCP SDK, which takes long to import."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.upstream.base import Upstream
from gristmill.upstream.http.http_transport import Address, http_transport, sse_transport
from gristmill.upstream.login.oauth_login import Browser, SharedLogin, login_provider
from gristmill.upstream.mcp.mcp_connection import Dial
from gristmill.upstream.mcp.supervisor import Supervised
from gristmill.upstream.remembered_tools import Remembered, load, save
from gristmill.upstream.secret_references import Secrets
from gristmill.upstream.server_terms import Outside, Terms
from gristmill.upstream.stdio.confined_program import confined
from gristmill.upstream.stdio.process_warden import Warden
from gristmill.upstream.stdio.stdio_transport import LastWords, Program, minimal_environment, stdio_transport
from gristmill.upstream.surroundings import Confine, Tokens, World
from gristmill.upstream.tool_filter import Filter
from gristmill.values import dataclass

log = logging.getLogger(__name__)


def build_server(name: str, config: ServerConfig, world: World, warden: Warden) -> Upstream:
    """The server of ``config``, not connected yet.

    Raises:
        ConfigError: it cannot be used.
    """
    secrets = Secrets(environ=world.environ, keyring=world.keyring)
    keep = partial(_keep, world.cache, name, config)
    known = load(world.cache, name, config) if world.cache else Remembered()
    if config.kind == "openapi":
        from gristmill.upstream.openapi.openapi_server import OpenApi  # its parser takes a tenth of a second that few need

        return OpenApi(name, config, secrets, known, keep)
    words = LastWords()
    outside = Outside(
        dice=world.dice,
        emit=world.emit,
        ask=world.ask,
        mask=secrets.mask,
        explain=words.line,
        keep=keep,
        heard=world.heard,
    )
    dial = (
        _stdio(name, config, secrets, _Child(warden, words, world.confine))
        if config.kind == "stdio"
        else _http(name, config, secrets, world)
    )
    return Supervised(name, dial, terms_of(config), outside, known)


def terms_of(config: ServerConfig) -> Terms:
    """How the configuration wants a server to be treated."""
    return Terms(
        kind=config.kind,
        legacy=config.era == "legacy",
        connect_seconds=config.connect_seconds,
        call_seconds=config.call_seconds,
        health_seconds=config.health_seconds,
        check_output=config.check_output,
        only=Filter(include=config.include, exclude=config.exclude),
    )


@dataclass(frozen=True, slots=True)
class _Child:
    warden: Warden
    words: LastWords
    confine: Confine | None


def _stdio(name: str, config: ServerConfig, secrets: Secrets, child: _Child) -> Dial:
    @asynccontextmanager
    async def dial() -> AsyncGenerator[Any]:
        child.words.forget()
        program = await anyio.to_thread.run_sync(_program, config, secrets)
        async with (
            confined(name, config, program, secrets, child.confine) as program,
            stdio_transport(program, warden=child.warden, words=child.words) as streams,
        ):
            yield streams

    return dial


def _program(config: ServerConfig, secrets: Secrets) -> Program:
    assert config.command
    given = {key: secrets.resolve(value) for key, value in config.env.items()}
    return Program(
        command=secrets.resolve(config.command),
        args=tuple(secrets.resolve(word) for word in config.args),
        env=minimal_environment(secrets.environ, given),
        cwd=config.cwd,
        cap=config.message_mb * 1_000_000,
    )


def _http(name: str, config: ServerConfig, secrets: Secrets, world: World) -> Dial:
    transport = sse_transport if config.kind == "sse" else http_transport

    @asynccontextmanager
    async def dial() -> AsyncGenerator[Any]:
        address = await anyio.to_thread.run_sync(address_of, name, config, secrets, world.tokens)
        async with transport(address) as streams:
            yield streams

    return dial


def address_of(
    name: str, config: ServerConfig, secrets: Secrets, tokens: Tokens | None, browser: Browser | None = None
) -> Address:
    """Where a server is, with everything resolved; for a login with a ``browser`` too.

    Raises:
        ConfigError: a reference that leads nowhere, or a login without a place for its tokens.
    """
    assert config.url
    url = secrets.resolve(config.url)
    auth = None
    if config.oauth is not None:
        if tokens is None:
            raise ConfigError(f"{name} needs a login, and there is no place to keep its tokens")
        auth = SharedLogin(login_provider(url, config.oauth, secrets, tokens(name), browser=browser))
    return Address(
        url=url,
        headers={key: secrets.resolve(value) for key, value in config.headers.items()},
        cap=config.message_mb * 1_000_000,
        call_seconds=config.call_seconds,
        auth=auth,
    )


def _keep(folder: Path | None, name: str, config: ServerConfig, remembered: Remembered) -> None:
    if folder is None:
        return
    try:
        save(folder, name, config, remembered)
    except OSError as error:
        log.warning("the tools of %s are not remembered: %s", name, error.strerror)
