"""What the verbs that ask about tools share: opening only what they need, and waiting for servers seen for the first time."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from gristmill.config.tree import Config
    from gristmill.runtime.tools.discovery import Discovery

Wait = Annotated[float, typer.Option(help="Seconds to wait for servers whose tools are not known yet.", min=0)]
WAIT = 30.0

T = TypeVar("T")


def ask(config: Path | None, question: "Callable[[Discovery], Awaitable[T]]", *, wait: float, again: bool = False) -> T:
    """The answer to ``question``, once the servers have been listed or ``wait`` seconds are over; no sandbox is opened."""
    return ask_about(settings_with_servers(config), question, wait=wait, again=again)


def settings_with_servers(config: Path | None) -> "Config":
    """The configuration; one without servers is said to be so."""
    from gristmill.config.tree import load_config
    from gristmill.serve.cli.terminal.safe_output import stderr

    settings = load_config(config)
    if not settings.servers:
        stderr().print("no servers are configured: add one to gristmill.toml, such as", style="yellow")
        stderr().print('  [servers.time]\n  command = "uvx"\n  args = ["mcp-server-time"]', markup=False)
    return settings


def ask_about(settings: "Config", question: "Callable[[Discovery], Awaitable[T]]", *, wait: float, again: bool = False) -> T:
    """The same about a configuration that was read already."""
    import asyncio

    return asyncio.run(answer(settings, question, wait=wait, again=again))


async def answer(settings: "Config", question: "Callable[[Discovery], Awaitable[T]]", *, wait: float, again: bool = False) -> T:
    """The same within an event loop."""
    from gristmill.runtime.open.open_servers import open_discovery

    async with open_discovery(settings) as discovery:
        await discovery.settled(wait, again=again)
        return await question(discovery)
