"""The servers and their tools as far as they are known now, without connecting to any."""

from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.config.tree import Config
from gristmill.upstream.remembered_tools import load

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

Known = dict[str, tuple[str, ...]]


async def known_servers(runtime: "Runtime") -> Known:
    """By an open runtime."""
    return {row.name: tuple(tool.name for tool in await runtime.list_tools(row.name)) for row in await runtime.list_servers()}


def remembered_servers(config: Config) -> Known:
    """By the configuration and what was remembered on disk: there is no runtime yet."""
    folder: Path = config.state_dir / "upstreams"
    return {
        name: tuple(tool.name for tool in load(folder, name, server).tools)
        for name, server in config.servers.items()
        if server.enabled
    }
