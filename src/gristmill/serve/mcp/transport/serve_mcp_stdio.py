"""Runs ``gristmill serve`` on standard input and output."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from gristmill.config.config_source import ConfigSource
from gristmill.config.tree import Config
from gristmill.events import ConfigChanged
from gristmill.runtime.open.follow_config import describe_change, follow_config
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.runtime.tools.example_import import choose_example
from gristmill.runtime.tools.remembered_servers import load_remembered_servers
from gristmill.runtime.values.audit_values import INTERRUPTED
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.open_in_background import open_in_background
from gristmill.serve.mcp.tools.server_instructions import write_instructions
from gristmill.serve.mcp.transport.mcp_over_stdio import open_stdio_streams

log = logging.getLogger(__name__)


async def serve_stdio(config: Config, source: ConfigSource | None = None) -> None:
    """Serves until the client closes its side, or until SIGTERM or SIGHUP: then what runs is recorded as interrupted.

    Changes of ``source``, where the configuration comes from, take effect meanwhile.
    """
    servers = load_remembered_servers(config)
    listeners: list[Callable[[ConfigChanged], None]] = []
    follow = partial(_follow_config, source, listeners)
    async with open_stdio_streams() as (reading, writing), open_in_background(config, follow) as hall:
        door = McpDoor(
            hall=hall,
            instructions=write_instructions(describe_servers(config, servers)),
            server_names=tuple(sorted(servers)),
            example=choose_example(servers),
            masks=config.mask.mode != "off",
            direct_calls=config.serve.direct_calls,
            on_wire=True,
        )
        listeners.append(door.take_note)
        server = build_server(door)
        try:
            await _run_until_signal(server.run(reading, writing, server.create_initialization_options()), door)
        finally:
            await door.close()


@asynccontextmanager
async def _follow_config(
    source: ConfigSource | None, listeners: list[Callable[[ConfigChanged], None]], runtime: Runtime
) -> AsyncGenerator[None]:
    """Takes changes of the configuration into use while the block runs, and logs them."""
    runtime.config_listeners = listeners
    async with follow_config(runtime, source, lambda change: log.warning("%s", describe_change(change))):
        yield


async def _run_until_signal(serve: Coroutine[Any, Any, None], door: McpDoor) -> None:
    """Runs ``serve``; a signal to end breaks the runs off first, and then ends it."""
    told, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, told.set)
    serving, waiting = asyncio.create_task(serve), asyncio.create_task(told.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            await door.runs.close(INTERRUPTED)
            return
        await serving
    finally:
        for task in (serving, waiting):
            task.cancel()
        await asyncio.gather(serving, waiting, return_exceptions=True)
        for number in numbers:
            loop.remove_signal_handler(number)
