"""A server of MCP and nothing else over HTTP: the test mode that relays one server, and what the conformance suite asks."""

import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server

from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.transport.mcp_over_http import LOOPBACK, PATH, app_of

HEADER_BYTES = 32_768
CONNECTIONS = 1_000


async def run_http(config: Config, *, host: str, port: int, token: str | None, passthrough: str) -> None:
    """Relay the server ``passthrough`` until interrupted.

    Raises:
        ConfigError: an address beyond this machine.
    """
    is_local = f"[{host}]" in LOOPBACK or host in LOOPBACK
    if not is_local:
        raise ConfigError(f"--passthrough is a test mode for this machine: use --host 127.0.0.1, not {host}")
    from gristmill.serve.mcp.passthrough import relaying

    async with relaying(config, passthrough) as relay:
        await listen(relay, None, host=host, port=port, token=token, hosts=LOOPBACK)


async def listen(
    server: Server[Any], door: Door | None, *, host: str, port: int, token: str | None, hosts: tuple[str, ...]
) -> None:
    """Serve ``server`` at that address until interrupted, and say which it is."""
    app = app_of(server, door, token=token, hosts=hosts)
    options = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        http="h11",  # the other one that it knows has no limit for headers, and would be taken where it is installed
        h11_max_incomplete_event_size=HEADER_BYTES,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    listening = _Announcing(options)
    await listening.serve()


class _Announcing(uvicorn.Server):
    """Says where it listens as soon as it does: port 0 means that nobody knows before."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for each in self.servers:
            for sock in each.sockets:
                name = sock.getsockname()
                print(f"listening on http://{name[0]}:{name[1]}{PATH}", file=sys.stderr, flush=True)
