"""The app's servers as a client without a gateway has them: started, listed and called directly."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters

from gristmill.config.tree import Config

SECONDS = 60.0
"""How long any answer may take."""


class Servers:
    """Clients by server name, and the definitions of their tools as a model gets them."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = clients
        self.definitions: dict[str, str] = {}

    async def list(self) -> None:
        """Fill ``definitions``."""
        for name, client in self._clients.items():
            for tool in (await client.list_tools()).tools:
                self.definitions[f"{name}.{tool.name}"] = definition(tool.name, tool.description, tool.input_schema)

    async def call(self, key: str, arguments: Mapping[str, Any]) -> Any:
        """The structured answer of one tool."""
        server, _, tool = key.partition(".")
        answer = await self._clients[server].call_tool(tool, dict(arguments))
        if answer.is_error:
            raise RuntimeError(f"{key}: {answer.content}")
        return answer.structured_content


def definition(name: str, description: str | None, input_schema: Any) -> str:
    """A tool as it stands in a model's context: what clients send, without spaces."""
    return compact({"name": name, "description": description or "", "input_schema": input_schema})


def compact(value: Any) -> str:
    """JSON without spaces: the fewest tokens that a client could spend on it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@asynccontextmanager
async def open_servers(config: Config, names: tuple[str, ...]) -> AsyncGenerator[Servers]:
    """The stdio servers ``names`` of ``config``, connected."""
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for name in names:
            server = config.servers[name]
            program = StdioServerParameters(
                command=server.command or "", args=list(server.args), env=dict(server.env), cwd=server.cwd
            )
            clients[name] = await stack.enter_async_context(Client(program, read_timeout_seconds=SECONDS))
        servers = Servers(clients)
        await servers.list()
        yield servers
