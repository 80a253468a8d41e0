"""Serves only MCP over HTTP, without the HTTP API, so that the conformance suite can reach a server that is made for it."""

import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server

from gristmill.serve.http.limits.client_connection import build_protocol
from gristmill.serve.http.limits.connection_crowd import ConnectionCrowd
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.transport.mcp_over_http import PATH, build_guarded_app

HEADER_BYTES = 32_768
CONNECTIONS = 1_000
REQUEST_SECONDS = 20.0


async def serve_at_address(
    server: Server[Any], door: McpDoor | None, *, host: str, port: int, token: str | None, hosts: tuple[str, ...]
) -> None:
    """Serves ``server`` at that address until interrupted, and prints the address."""
    app = build_guarded_app(server, door, token=token, hosts=hosts)
    crowd = ConnectionCrowd(most=CONNECTIONS)
    options = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        http=build_protocol(seconds=REQUEST_SECONDS, header_bytes=HEADER_BYTES, crowd=crowd),
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    listening = _AnnouncingServer(options)
    crowd.connections = listening.server_state.connections
    await listening.serve()


class _AnnouncingServer(uvicorn.Server):
    """A server that prints its address when it listens: with port 0 the port is not known earlier."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for each in self.servers:
            for sock in each.sockets:
                name = sock.getsockname()
                print(f"listening on http://{name[0]}:{name[1]}{PATH}", file=sys.stderr, flush=True)
