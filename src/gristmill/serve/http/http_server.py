"""The process: listen, serve, and on SIGTERM end well: take nothing new, let what runs end, keep what was acknowledged."""

import asyncio
import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from gristmill.config.tree import Config
from gristmill.errors import ConfigError, Error
from gristmill.runtime.open.open_records import open_config_store
from gristmill.runtime.runtime import Runtime
from gristmill.serve.access_tokens import TABLES, Tokens
from gristmill.serve.dashboard.mount import mount_dashboard
from gristmill.serve.http.app import Mount, build_app
from gristmill.serve.http.http_door import Door, open_door, with_tokens
from gristmill.serve.http.json_logs import log_servers, say, set_up_logs
from gristmill.serve.http.limits.client_transport import TimedProtocol
from gristmill.serve.http.limits.connection_limit import RESERVE, Crowd
from gristmill.serve.http.limits.request_wall import LOOPBACK
from gristmill.serve.http.listen_address import take_address
from gristmill.upstream.execution_callers import refuse_questions
from gristmill.upstream.python_functions import Function

KEEP_ALIVE_SECONDS = 75
FLUSH_SECONDS = 2
"""How long the last answers may take to be sent, once all executions have ended."""


async def serve(config: Config, *mounts: Mount, tools: Mapping[str, Function] | None = None, token: str | None = None) -> None:
    """Serve until told to end; ``tools`` adds Python functions, ``token`` opens without being registered.

    Raises:
        ConfigError: an address that is taken, or one beyond this machine and no token that would open it.
        SandboxUnavailable: the promised isolation cannot be had; nothing was started.
    """
    set_up_logs(config.serve.log_level)
    sockets = await take_address(config.serve.host, config.serve.port)
    try:
        async with opened_door(config, tools, token) as door:
            crowd = Crowd(build_app(door, *mounts), door)
            server = _Server(_options(config, crowd), door, has_dashboard=mount_dashboard in mounts)
            crowd.connections = server.server_state.connections
            await server.serve(sockets)
    except Error as error:
        say("cannot go on", level=logging.ERROR, code=error.code, reason=error.message)
        raise
    finally:
        for each in sockets:
            each.close()


@asynccontextmanager
async def opened_door(
    config: Config, tools: Mapping[str, Function] | None = None, token: str | None = None
) -> AsyncGenerator[Door]:
    """The door of a runtime that is open as long as it is, with tokens from the store."""
    settings = config.serve
    is_local = settings.host in LOOPBACK
    async with open_config_store(config, TABLES) as store:
        tokens = Tokens(store)
        now = time.time()
        if not (is_local or settings.jwt.issuer or token or any(one.is_good(now) for one in await tokens.list())):
            raise ConfigError(
                f"without a token only this machine may connect, not {settings.host}: "
                "make one with `gristmill tokens create NAME`, or set serve.jwt"
            )
        jwt = _jwt(config)
        async with Runtime.open(config, tools=tools, emit=log_servers, ask=refuse_questions, serving=True) as runtime:
            door = open_door(runtime, everywhere=not is_local and not settings.hosts)
            door.authenticate = with_tokens(door.wall, tokens, jwt.verify if jwt else None, token)
            try:
                yield door
            finally:
                if jwt:
                    await jwt.close()


def _jwt(config: Config) -> Any:
    if not config.serve.jwt.issuer:
        return None
    from gristmill.serve.jwt_tokens import JwtVerifier  # its libraries are needed with an identity provider only

    return JwtVerifier(config.serve.jwt)


def _options(config: Config, app: Any) -> uvicorn.Config:
    settings = config.serve

    class Timed(TimedProtocol):
        """With the configured time."""

        header_seconds = settings.request_seconds

    return uvicorn.Config(
        app, host=settings.host, port=settings.port, http=Timed, log_config=None, access_log=False,
        h11_max_incomplete_event_size=settings.header_bytes, limit_concurrency=settings.connections + RESERVE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=FLUSH_SECONDS, server_header=False,
        proxy_headers=False, ws="websockets-sansio", ws_max_size=settings.body_bytes, ws_max_queue=8, backlog=2_048,
    )  # fmt: skip


def _settle() -> None:
    """What the start has made stays: Python's search for cycles need not look at it again. Nor need it look so often: a
    thousand requests at once hold very many objects, and hardly any in a cycle."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class _Server(uvicorn.Server):
    """Says where it listens; ends in order."""

    def __init__(self, config: uvicorn.Config, door: Door, *, has_dashboard: bool) -> None:
        super().__init__(config)
        self._door, self._has_dashboard = door, has_dashboard
        self._drain: asyncio.Task[None] | None = None

    def _warn_of_isolation(self) -> None:
        """Less than the best is used only where the configuration says so, and then nobody should have to find out."""
        runtime = self._door.runtime
        if runtime.isolation != "namespaces":
            asked = runtime.config.sandbox.isolation
            say("weaker isolation", level=logging.WARNING, isolation=runtime.isolation, configured=asked)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _settle()
        for each in self.servers:
            for listening in each.sockets:
                host, port = listening.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                print(f"listening on http://{shown}:{port}", file=sys.stderr, flush=True)
                self._warn_of_isolation()
                pages = f"http://{shown}:{port}/dashboard" if self._has_dashboard else None
                if pages and sys.stderr.isatty():  # for people: whoever collects logs gets lines of JSON
                    print(f"dashboard at {pages}", file=sys.stderr, flush=True)
                say("listening", host=host, port=port, isolation=self._door.runtime.isolation, dashboard=pages)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.runs.tell()  # streams that wait for news end: there will be none
        await self._door.runs.drain(0.0)  # told to end at once: what still runs is broken off, on record and to whoever waits
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """First signal: drain. Second: end now."""
        if self._drain is not None or sig == signal.SIGINT:
            self._door.draining = True
            super().handle_exit(sig, frame)
            return
        self._door.draining = True
        self._drain = asyncio.get_running_loop().create_task(self._let_end())

    async def _let_end(self) -> None:
        """New requests are refused with 429 and `/ready` says 503 meanwhile, so that a balancer sends them elsewhere."""
        say("draining", running=len(self._door.runs.active))
        ended = await self._door.runs.drain(self._door.config.drain_seconds)
        say("drained", broken_off=ended)
        self.should_exit = True
