"""A configuration becomes opened upstreams: the one place of this room where all of its files meet."""

import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from gristmill.config_servers import ServerConfig
from gristmill.errors import ConfigError
from gristmill.events import Emit, ignore
from gristmill.upstream.auth import Browser, SharedLogin, login_provider, open_browser
from gristmill.upstream.base import Ask, Broken, Upstream, Upstreams
from gristmill.upstream.breaker import Dice
from gristmill.upstream.connection import Dial, Hooks, open_connection
from gristmill.upstream.http import Address, http_transport, sse_transport
from gristmill.upstream.inproc import Inproc, functions_of
from gristmill.upstream.listing import Filter, list_tools
from gristmill.upstream.openapi import OpenApi
from gristmill.upstream.remember import Remembered, load, save
from gristmill.upstream.secrets import Keyring, Secrets, no_keyring
from gristmill.upstream.stdio import LastWords, Program, minimal_environment, stdio_transport
from gristmill.upstream.supervise import Supervised
from gristmill.upstream.terms import Outside, Terms
from gristmill.upstream.tokens import TokenStore
from gristmill.upstream.translate import one_line, translate
from gristmill.upstream.warden import Warden, open_warden

log = logging.getLogger(__name__)

Tokens = Callable[[str], TokenStore]
"""A server's name → where its tokens are kept."""

_AT_ONCE = 8
"""Servers that start in the background at the same time; a call never waits for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What this room uses of its surroundings."""

    environ: Mapping[str, str] = field(repr=False)
    cache: Path | None = None
    """Folder for remembered catalogues; none remembers nothing."""
    keyring: Keyring = no_keyring
    tokens: Tokens | None = None
    """Where the tokens of a server's login are kept."""
    emit: Emit = ignore
    ask: Ask | None = None
    dice: Dice = random.random


@asynccontextmanager
async def open_upstreams(
    servers: Mapping[str, ServerConfig], world: World, *, others: tuple[Upstream, ...] = ()
) -> AsyncGenerator[Upstreams]:
    """Open every enabled server and ``others`` of your own; returns at once, connections are made in the background.

    A server that cannot be used says so in its status; it never keeps the others from being opened.
    """
    failure: Exception | None = None
    async with open_warden() as warden, anyio.create_task_group() as tasks:
        enabled = {name: config for name, config in servers.items() if config.enabled}
        upstreams = [_build_or_explain(name, config, world, warden) for name, config in enabled.items()]
        upstreams += others
        at_once = anyio.CapacityLimiter(_AT_ONCE)
        for upstream in upstreams:
            tasks.start_soon(upstream.run)
            config = enabled.get(upstream.name)
            if config and (config.connect == "background" or not upstream.tools):
                tasks.start_soon(_settle, upstream, at_once)
        try:
            yield Upstreams(upstreams)
        except Exception as error:  # the caller's own: it must not come back wrapped in a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _settle(upstream: Upstream, at_once: anyio.CapacityLimiter) -> None:
    async with at_once:
        await upstream.settled()


def _build_or_explain(name: str, config: ServerConfig, world: World, warden: Warden) -> Upstream:
    try:
        return _build(name, config, world, warden)
    except ConfigError as error:  # one server that cannot be used is no reason to do without the others
        return Broken(name, config.kind, one_line(str(error)))


def _build(name: str, config: ServerConfig, world: World, warden: Warden) -> Upstream:
    secrets = Secrets(environ=world.environ, keyring=world.keyring)
    if config.kind == "python":
        assert config.python
        only = Filter(include=config.include, exclude=config.exclude)
        functions = [function for function in functions_of(config.python) if only.admits(function.__name__)]
        return Inproc(name, functions, seconds=config.call_seconds)
    if config.kind == "openapi":
        return OpenApi(name, config, secrets)
    words = LastWords()
    outside = Outside(
        dice=world.dice,
        emit=world.emit,
        ask=world.ask,
        mask=secrets.mask,
        explain=words.line,
        keep=partial(_keep, world.cache, name, config),
    )
    dial = _stdio(config, secrets, _Child(warden, words)) if config.kind == "stdio" else _http(name, config, secrets, world)
    known = load(world.cache, name, config) if world.cache else Remembered()
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


def _stdio(config: ServerConfig, secrets: Secrets, child: _Child) -> Dial:
    @asynccontextmanager
    async def dial() -> AsyncGenerator[Any]:
        child.words.forget()
        program = await anyio.to_thread.run_sync(_program, config, secrets)
        async with stdio_transport(program, warden=child.warden, words=child.words) as streams:
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


async def login(
    name: str,
    config: ServerConfig,
    secrets: Secrets,
    tokens: Tokens,
    show: Callable[[str], Awaitable[None]],
    *,
    seconds: float = 300.0,
) -> int:
    """Log in to a server once, with a person at a browser; returns how many tools it then offers.

    Raises:
        UpstreamError: the login or the listing failed, or took longer than ``seconds``.
        ConfigError: the server is not one to log in to.
    """
    if config.oauth is None or config.url is None:
        raise ConfigError(f"{name} has no `oauth` in its configuration")
    hooks = Hooks(server=name, emit=ignore, ask=None, changed=lambda: None)
    try:
        async with open_browser(show, port=config.oauth.callback_port, seconds=seconds) as browser:
            address = await anyio.to_thread.run_sync(address_of, name, config, secrets, tokens, browser)
            transport = sse_transport if config.kind == "sse" else http_transport
            async with open_connection(lambda: transport(address), "auto", hooks) as connection:
                return len(await list_tools(connection.client, name, Filter()))
    except Exception as error:  # the edge of this room
        raise translate(error, name) from None


def _keep(folder: Path | None, name: str, config: ServerConfig, remembered: Remembered) -> None:
    if folder is None:
        return
    try:
        save(folder, name, config, remembered)
    except OSError as error:
        log.warning("the tools of %s are not remembered: %s", name, error.strerror)
