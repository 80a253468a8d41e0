"""Builds one server from its configuration. This module imports the files of this room that need the MCP SDK: a slow import."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from msgspec import Struct

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.upstream.base import Upstream
from gristmill.upstream.http.environment_proxy import ProxyChoice
from gristmill.upstream.http.http_transport import HttpAddress, make_http_transport, make_sse_transport
from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.listing.remembered_tools import RememberedTools, load_remembered_tools, save_remembered_tools
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.login.oauth_login import LoginBrowser, SharedLogin, make_login_provider
from gristmill.upstream.mcp.mcp_connection import Dial
from gristmill.upstream.mcp.supervisor import SupervisedServer
from gristmill.upstream.secret_references import SecretReferences, find_proxy_passwords
from gristmill.upstream.server_terms import OutsideHooks, ServerTerms
from gristmill.upstream.stdio.confined_program import confine_program
from gristmill.upstream.stdio.process_warden import ProcessWarden
from gristmill.upstream.stdio.server_log import ServerLog
from gristmill.upstream.stdio.server_output import ServerOutput
from gristmill.upstream.stdio.stdio_transport import ServerProgram, make_minimal_environment, open_stdio_transport
from gristmill.upstream.surroundings import Confine, OpenTokenStore, Surroundings

log = logging.getLogger(__name__)


def build_server(name: str, config: ServerConfig, world: Surroundings, warden: ProcessWarden) -> Upstream:
    """Builds the server that ``config`` describes, without connecting to it.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    secrets = SecretReferences(environ=world.environ, keyring=world.keyring)
    keep = partial(_save_tools, world.cache, name, config)
    known = load_remembered_tools(world.cache, name, config) if world.cache else RememberedTools()
    if config.kind == "openapi":
        from gristmill.upstream.openapi.openapi_server import OpenApiServer  # slow to import (0.1 s), and rarely needed

        return OpenApiServer(name, config, secrets, known, keep)
    output = ServerOutput(ServerLog(world.find_log(name), world.log_bytes, secrets.mask) if world.find_log else None)
    outside = OutsideHooks(
        dice=world.dice,
        emit=world.emit,
        ask=world.ask,
        mask=secrets.mask,
        describe_failure=output.describe_failure,
        read_output=output.last_lines,
        save_tools=keep,
        has_listener=world.has_listener,
    )
    dial = (
        _make_stdio_dial(name, config, secrets, _ChildParts(warden, output, world.confine, world.env_pass))
        if config.kind == "stdio"
        else _make_http_dial(name, config, secrets, world)
    )
    return SupervisedServer(name, dial, make_server_terms(config), outside, known)


def make_server_terms(config: ServerConfig) -> ServerTerms:
    """Returns the terms (timeouts, filters, checks) that the configuration sets for a server."""
    return ServerTerms(
        kind=config.kind,
        legacy=config.era == "legacy",
        connect_seconds=config.connect_seconds,
        call_seconds=config.call_seconds,
        health_seconds=config.health_seconds,
        check_output=config.check_output,
        limits=JsonLimits(values=config.message_values),
        tool_filter=ToolFilter(include=config.include, exclude=config.exclude),
    )


class _ChildParts(Struct, frozen=True):
    """What starting a child process needs besides its configuration."""

    warden: ProcessWarden
    output: ServerOutput
    confine: Confine | None
    env_pass: tuple[str, ...] = ()


def _make_stdio_dial(name: str, config: ServerConfig, secrets: SecretReferences, child: _ChildParts) -> Dial:
    """Returns a function that starts the server's program and opens its transport."""

    @asynccontextmanager
    async def dial() -> AsyncGenerator[Any]:
        child.output.clear()
        await child.output.note_start()
        program = await anyio.to_thread.run_sync(_resolve_program, config, secrets, child.env_pass)
        async with (
            confine_program(name, config, program, secrets, child.confine) as program,
            open_stdio_transport(program, warden=child.warden, output=child.output) as streams,
        ):
            yield streams

    return dial


def _resolve_program(config: ServerConfig, secrets: SecretReferences, env_pass: tuple[str, ...]) -> ServerProgram:
    """Resolves the secrets of ``config`` into a program to start. Runs in a thread, because a keyring may block."""
    assert config.command
    given = {key: secrets.resolve(value) for key, value in config.env.items()}
    return ServerProgram(
        command=secrets.resolve(config.command),
        args=tuple(secrets.resolve(word) for word in config.args),
        env=make_minimal_environment(secrets.environ, given, secrets.pass_on((*env_pass, *config.env_pass))),
        cwd=config.cwd,
        cap=config.message_mb * 1_000_000,
        limits=JsonLimits(values=config.message_values),
    )


def _make_http_dial(name: str, config: ServerConfig, secrets: SecretReferences, world: Surroundings) -> Dial:
    """Returns a function that resolves the server's address and opens its transport."""
    transport = make_sse_transport if config.kind == "sse" else make_http_transport

    @asynccontextmanager
    async def dial() -> AsyncGenerator[Any]:
        address = await anyio.to_thread.run_sync(make_http_address, name, config, secrets, world.open_token_store)
        async with transport(address) as streams:
            yield streams

    return dial


def make_http_address(
    name: str, config: ServerConfig, secrets: SecretReferences, tokens: OpenTokenStore | None, browser: LoginBrowser | None = None
) -> HttpAddress:
    """Returns the address of a server with all secrets resolved; ``browser`` is given when a person logs in.

    Raises:
        ConfigError: a secret reference has no value, or the login has no store for its tokens.
    """
    assert config.url
    url = secrets.resolve(config.url)
    auth = None
    if config.oauth is not None:
        if tokens is None:
            raise ConfigError(f"{name} needs a login, but no store for its tokens is set up")
        auth = SharedLogin(make_login_provider(url, config.oauth, secrets, tokens(name), browser=browser))
    return HttpAddress(
        url=url,
        headers={key: secrets.resolve(value) for key, value in config.headers.items()},
        cap=config.message_mb * 1_000_000,
        limits=JsonLimits(values=config.message_values),
        call_seconds=config.call_seconds,
        auth=auth,
        proxies=read_proxies(secrets),
    )


def read_proxies(secrets: SecretReferences) -> ProxyChoice:
    """Returns the proxies of the environment; their passwords are masked from now on.

    Raises:
        ConfigError: a proxy is of a kind that is not supported.
    """
    secrets.note_secrets(find_proxy_passwords(secrets.environ))
    return ProxyChoice.from_environ(secrets.environ)


def _save_tools(folder: Path | None, name: str, config: ServerConfig, remembered: RememberedTools) -> None:
    if folder is None:
        return
    try:
        save_remembered_tools(folder, name, config, remembered)
    except OSError as error:
        log.warning("the tools of %s could not be saved for the next start: %s", name, error.strerror)
