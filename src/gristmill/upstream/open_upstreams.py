"""Opens the servers of a configuration. Servers whose tools are remembered are built and connected at their first use."""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module

import anyio
import anyio.to_thread

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.upstream.base import BrokenServer, Upstream
from gristmill.upstream.changing_servers import ChangingServers
from gristmill.upstream.lazy_server import LazyServer, MakeServer
from gristmill.upstream.listing.remembered_tools import RememberedTools, load_remembered_tools
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.python_functions import PythonFunctions, find_public_functions
from gristmill.upstream.short_text import shorten_to_line
from gristmill.upstream.stdio.process_warden import ProcessWarden, open_warden
from gristmill.upstream.surroundings import Surroundings

__all__ = ["Surroundings", "open_upstreams"]

_SLOW_MODULE = "gristmill.upstream.build_server"


@asynccontextmanager
async def open_upstreams(
    servers: Mapping[str, ServerConfig], world: Surroundings, *, others: tuple[Upstream, ...] = ()
) -> AsyncGenerator[ChangingServers]:
    """Opens all enabled servers and ``others``; yields at once, and connections are made in the background.

    A server that cannot be used says so in its status. It never keeps the others from being opened.
    """
    failure: Exception | None = None
    async with open_warden() as warden, anyio.create_task_group() as tasks:
        loading = anyio.Lock()  # fifty servers that are built at the same time import the SDK once, in one thread

        def open_server(name: str, config: ServerConfig) -> Upstream:
            return _open_server(name, config, world, partial(_build_in_background, name, config, world, warden, loading))

        upstreams = ChangingServers(tasks, open_server, others)
        upstreams.change(servers)
        try:
            yield upstreams
        except Exception as error:  # the exception of the caller's block must not come back wrapped in a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _open_server(name: str, config: ServerConfig, world: Surroundings, make: MakeServer) -> Upstream:
    if config.kind != "python":
        known = load_remembered_tools(world.cache, name, config) if world.cache else RememberedTools()
        return LazyServer(name, config.kind, known, make, confined=config.confine is not None)
    try:
        return _open_functions(name, config)
    except ConfigError as error:  # one unusable server must not stop the others
        return BrokenServer(name, config.kind, shorten_to_line(str(error)))


def _open_functions(name: str, config: ServerConfig) -> Upstream:
    assert config.python
    only = ToolFilter(include=config.include, exclude=config.exclude)
    functions = [function for function in find_public_functions(config.python) if only.admits(function.__name__)]
    return PythonFunctions(name, functions, seconds=config.call_seconds)


async def _build_in_background(
    name: str, config: ServerConfig, world: Surroundings, warden: ProcessWarden, loading: anyio.Lock
) -> Upstream:
    async with loading:
        if _SLOW_MODULE not in sys.modules:
            await anyio.to_thread.run_sync(import_module, _SLOW_MODULE)
    from gristmill.upstream.build_server import build_server

    return build_server(name, config, world, warden)
