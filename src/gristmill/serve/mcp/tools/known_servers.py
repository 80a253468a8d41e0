"""Lists the servers and their tools as far as an open runtime knows them now."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime


async def list_known_servers(runtime: "Runtime") -> dict[str, tuple[str, ...]]:
    """Returns the names of the tools that an open runtime knows, by the name of their server."""
    return {row.name: tuple(tool.name for tool in await runtime.list_tools(row.name)) for row in await runtime.list_servers()}
