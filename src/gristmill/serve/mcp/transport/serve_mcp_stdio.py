"""The whole of ``gristmill serve`` on standard input and output."""

from gristmill.config.tree import Config
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.open_in_background import opening
from gristmill.serve.mcp.tools.known_servers import remembered_servers
from gristmill.serve.mcp.tools.server_instructions import instructions
from gristmill.serve.mcp.transport.mcp_over_stdio import stdio_streams


async def run_stdio(config: Config) -> None:
    """Serve until the client closes its end."""
    servers = remembered_servers(config)
    async with stdio_streams() as (reading, writing), opening(config) as hall:
        door = Door(
            hall=hall,
            instructions=instructions(servers),
            names=tuple(sorted(servers)),
            direct_calls=config.serve.direct_calls,
            on_wire=True,
        )
        server = build_server(door)
        try:
            await server.run(reading, writing, server.create_initialization_options())
        finally:
            await door.close()
