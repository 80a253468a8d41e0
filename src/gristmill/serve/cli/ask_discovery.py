"""Opens the tool servers for verbs that ask about tools. It opens no sandbox, and waits for servers not listed before."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from gristmill.config.tree import Config, load_config
from gristmill.runtime.open.open_servers import open_discovery
from gristmill.runtime.tools.discovery import Discovery
from gristmill.serve.cli.terminal.safe_output import stderr
from gristmill.serve.cli.terminal.show_waiting import show_waiting

T = TypeVar("T")
MOST_NAMED = 5


def ask_discovery(config: Path | None, question: Callable[[Discovery], Awaitable[T]], *, wait: float, again: bool = False) -> T:
    """Returns the answer to ``question``, asked once the servers are listed or ``wait`` seconds have passed. Opens no sandbox.

    ``again`` lists every server anew, also those whose tools are remembered from an earlier run.
    """
    return ask_discovery_with(load_config_or_warn(config), question, wait=wait, again=again)


def load_config_or_warn(config: Path | None) -> Config:
    """Loads the configuration; prints how to add a server if it has none."""
    settings = load_config(config)
    if not settings.servers:
        stderr().print("no servers are configured: run `gristmill init`, or add one to gristmill.toml, such as", style="yellow")
        stderr().print('  [servers.time]\n  command = "uvx"\n  args = ["mcp-server-time"]')
    return settings


def ask_discovery_with(settings: Config, question: Callable[[Discovery], Awaitable[T]], *, wait: float, again: bool = False) -> T:
    """Does the same as `ask` with a configuration that is already loaded."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts a thread per core, which takes a tenth of a search
    return asyncio.run(ask_discovery_in_loop(settings, question, wait=wait, again=again))


async def ask_discovery_in_loop(
    settings: Config, question: Callable[[Discovery], Awaitable[T]], *, wait: float, again: bool = False
) -> T:
    """Does the same as `ask_about` inside a running event loop."""
    async with open_discovery(settings) as discovery:
        await show_waiting(discovery.wait_until_listed(wait, again=again), lambda: _name_servers(settings))
        return await question(discovery)


def _name_servers(settings: Config) -> str:
    names = [name for name, server in settings.servers.items() if server.enabled]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"waiting for {', '.join(names[:MOST_NAMED])}{more}"
