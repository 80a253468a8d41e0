"""The whole of ``gristmill serve --http``."""

import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server

from gristmill.config import Config
from gristmill.errors import ConfigError
from gristmill.serve.mcp.http import LOOPBACK, PATH, app_of, http_caller
from gristmill.serve.mcp.instructions import instructions
from gristmill.serve.mcp.known import remembered_servers
from gristmill.serve.mcp.opening import opening
from gristmill.serve.mcp.server import build_server
from gristmill.serve.mcp.state import Door

HEADER_BYTES = 32_768
CONNECTIONS = 1_000


async def run_http(config: Config, *, host: str, port: int, token: str | None, passthrough: str | None = None) -> None:
    """Serve until interrupted.

    Raises:
        ConfigError: an address beyond this machine without a token, or in the test mode.
    """
    is_local = f"[{host}]" in LOOPBACK or host in LOOPBACK
    if token is None and not is_local:
        raise ConfigError(f"without a token only this machine may connect: use --host 127.0.0.1, not {host}")
    hosts = LOOPBACK if is_local else (*LOOPBACK, host)
    if passthrough is not None:
        if not is_local:
            raise ConfigError(f"--passthrough is a test mode for this machine: use --host 127.0.0.1, not {host}")
        from gristmill.serve.mcp.passthrough import relaying

        async with relaying(config, passthrough) as relay:
            await listen(relay, None, host=host, port=port, token=token, hosts=hosts)
        return
    servers = remembered_servers(config)
    async with opening(config) as hall:
        door = Door(
            hall=hall,
            instructions=instructions(servers),
            names=tuple(sorted(servers)),
            who=http_caller,
            on_wire=True,
            direct_calls=config.serve.direct_calls,
        )
        await listen(build_server(door), door, host=host, port=port, token=token, hosts=hosts)


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
