"""A configuration becomes opened upstreams. Servers whose tools are remembered are only made when somebody needs them."""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.upstream.base import Broken, Upstream, Upstreams
from gristmill.upstream.lazy_server import Lazy, Make
from gristmill.upstream.remembered_tools import Remembered, load
from gristmill.upstream.short_text import one_line
from gristmill.upstream.stdio.process_warden import Warden, open_warden
from gristmill.upstream.surroundings import World
from gristmill.upstream.tool_filter import Filter

__all__ = ["World", "open_upstreams"]

_AT_ONCE = 8
"""Servers that start in the background at the same time; a call never waits for them."""
_HEAVY = "gristmill.upstream.build_server"


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
        loading = anyio.Lock()  # fifty servers that wake at once import the SDK once, in one thread
        upstreams = [
            _open(name, config, world, partial(_make, name, config, world, warden, loading)) for name, config in enabled.items()
        ]
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


def _open(name: str, config: ServerConfig, world: World, make: Make) -> Upstream:
    if config.kind != "python":
        known = load(world.cache, name, config) if world.cache else Remembered()
        return Lazy(name, config.kind, known, make, confined=config.confine is not None)
    try:
        return _functions(name, config)
    except ConfigError as error:  # one server that cannot be used is no reason to do without the others
        return Broken(name, config.kind, one_line(str(error)))


def _functions(name: str, config: ServerConfig) -> Upstream:
    from gristmill.upstream.python_functions import Inproc, functions_of

    assert config.python
    only = Filter(include=config.include, exclude=config.exclude)
    functions = [function for function in functions_of(config.python) if only.admits(function.__name__)]
    return Inproc(name, functions, seconds=config.call_seconds)


async def _make(name: str, config: ServerConfig, world: World, warden: Warden, loading: anyio.Lock) -> Upstream:
    async with loading:
        if _HEAVY not in sys.modules:
            await anyio.to_thread.run_sync(import_module, _HEAVY)
    from gristmill.upstream.build_server import build_server

    return build_server(name, config, world, warden)
