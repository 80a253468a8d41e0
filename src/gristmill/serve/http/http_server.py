"""Runs the HTTP service: it listens, serves, and on SIGTERM or SIGHUP drains: refuses new work, lets running executions end, and
keeps what was acknowledged."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from gristmill.config.config_source import ConfigSource
from gristmill.config.tree import Config
from gristmill.errors import ConfigError, Error
from gristmill.rollout.open_rollouts import serve_rollouts
from gristmill.runtime.open.follow_config import follow_config
from gristmill.runtime.open.open_records import open_config_store
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.server_values import Function, refuse_questions
from gristmill.serve.access_tokens import TokenRegister
from gristmill.serve.dashboard.mount import mount_dashboard
from gristmill.serve.http.app import Mount, build_app
from gristmill.serve.http.http_door import HttpDoor, build_token_verifier, open_door
from gristmill.serve.http.json_logs import log_config_change, log_event, log_server_change, set_up_logs
from gristmill.serve.http.limits.client_connection import build_protocol
from gristmill.serve.http.limits.connection_crowd import ConnectionCrowd
from gristmill.serve.http.limits.connection_limit import ConnectionLimit
from gristmill.serve.http.limits.descriptor_room import ACCEPTED_AT_ONCE, AcceptErrors, build_crowd
from gristmill.serve.http.limits.request_wall import LOOPBACK
from gristmill.serve.http.listen_address import bind_address

BACKLOG = 2_048
KEEP_ALIVE_SECONDS = 75
FLUSH_SECONDS = 2
"""How long sending the last answers may take after all executions have ended."""


async def run_service(
    config: Config,
    *mounts: Mount,
    tools: Mapping[str, Function] | None = None,
    token: str | None = None,
    source: ConfigSource | None = None,
) -> None:
    """Serves until told to end; ``tools`` adds Python functions, ``token`` is accepted without being registered.

    Changes of ``source``, where the configuration comes from, take effect meanwhile.

    Raises:
        ConfigError: the address is taken, or it can be reached from other machines and there is no token.
        SandboxUnavailable: this machine does not offer the configured isolation; nothing was started.
    """
    set_up_logs(config.serve.log_level)
    sockets = await bind_address(config.serve.host, config.serve.port)
    try:
        async with (
            open_service(config, tools, token) as door,
            follow_config(door.runtime, source, log_config_change),
        ):
            asyncio.get_running_loop().set_exception_handler(AcceptErrors())
            crowd = build_crowd(config.serve.connections, config.sandbox.concurrency)
            app = ConnectionLimit(build_app(door, *mounts), door, crowd)
            server = _Server(_build_uvicorn_config(config, app, crowd), door, has_dashboard=mount_dashboard in mounts)
            crowd.connections = server.server_state.connections
            await server.serve(sockets)
    except Error as error:
        log_event("cannot continue", level=logging.ERROR, code=error.code, reason=error.message)
        raise
    finally:
        for each in sockets:
            each.close()


@asynccontextmanager
async def open_service(
    config: Config, tools: Mapping[str, Function] | None = None, token: str | None = None
) -> AsyncGenerator[HttpDoor]:
    """Opens a runtime and its door, with tokens from the store."""
    settings = config.serve
    is_local = settings.host in LOOPBACK
    async with open_config_store(config) as store:
        tokens = TokenRegister(store)
        now = time.time()
        if not (is_local or settings.jwt.issuer or token or any(one.is_valid(now) for one in await tokens.list())):
            raise ConfigError(
                f"there is no access token, and {settings.host} can be reached from other machines: "
                "create a token with `gristmill tokens create NAME`, or set serve.jwt"
            )
        jwt = _build_jwt_verifier(config)
        async with (
            Runtime.open(config, tools=tools, emit=log_server_change, ask=refuse_questions, serving=True) as runtime,
            serve_rollouts(runtime) as rollouts,
        ):
            door = open_door(runtime, everywhere=not is_local and not settings.hosts, rollouts=rollouts)
            door.authenticate = build_token_verifier(door.wall, tokens, jwt.verify if jwt else None, token)
            try:
                yield door
            finally:
                if jwt:
                    await jwt.close()


def _build_jwt_verifier(config: Config) -> Any:
    if not config.serve.jwt.issuer:
        return None
    from gristmill.serve.jwt_tokens import JwtVerifier  # its libraries are needed only with an identity provider

    return JwtVerifier(config.serve.jwt)


def _build_uvicorn_config(config: Config, app: Any, crowd: ConnectionCrowd) -> uvicorn.Config:
    settings = config.serve
    protocol = build_protocol(seconds=settings.request_seconds, header_bytes=settings.header_bytes, crowd=crowd)
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, http=protocol, log_config=None, access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=FLUSH_SECONDS, server_header=False,
        proxy_headers=False, ws="websockets-sansio", ws_max_size=settings.body_bytes, ws_max_queue=8, backlog=ACCEPTED_AT_ONCE,
    )  # fmt: skip


def _lengthen_backlog(descriptor: int) -> None:
    """Lets the kernel hold more new connections than are taken at once."""
    listening = socket.socket(fileno=os.dup(descriptor))
    with listening:
        listening.listen(BACKLOG)


def _relax_garbage_collector() -> None:
    """Makes garbage collection cheaper after the start.

    Objects of the start stay alive, so the collector need not look at them again. It also need not run so often: a thousand
    requests at once hold very many objects, and hardly any of them in a cycle.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class _Server(uvicorn.Server):
    """Prints where it listens, and drains before it ends."""

    def __init__(self, config: uvicorn.Config, door: HttpDoor, *, has_dashboard: bool) -> None:
        super().__init__(config)
        self._door, self._has_dashboard = door, has_dashboard
        self._draining: asyncio.Task[None] | None = None

    def _warn_of_weak_isolation(self) -> None:
        """Logs a warning if the isolation is weaker than the best; that happens only if the configuration allows it."""
        runtime = self._door.runtime
        if runtime.isolation != "namespaces":
            asked = runtime.config.sandbox.isolation
            log_event("weaker isolation", level=logging.WARNING, isolation=runtime.isolation, configured=asked)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _relax_garbage_collector()
        for each in self.servers:
            for listening in each.sockets:
                _lengthen_backlog(listening.fileno())
                host, port = listening.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                print(f"listening on http://{shown}:{port}", file=sys.stderr, flush=True)
                self._warn_of_weak_isolation()
                pages = f"http://{shown}:{port}/dashboard" if self._has_dashboard else None
                if pages and host in LOOPBACK:
                    self._door.runtime.serve_pages_at(f"http://{shown}:{port}")
                if pages and sys.stderr.isatty():  # only for a person at a terminal: collected logs must stay lines of JSON
                    print(f"dashboard at {pages}", file=sys.stderr, flush=True)
                log_event("listening", host=host, port=port, isolation=self._door.runtime.isolation, dashboard=pages)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.runs.wake_streams()  # wakes the event streams, so that they end
        # Cancels what still runs after a signal to end at once, so that it is recorded and its clients get an answer.
        await self._door.runs.drain(0.0)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Handles SIGHUP as SIGTERM, unless it is ignored, as under nohup."""
        with super().capture_signals():
            before = signal.getsignal(signal.SIGHUP)
            is_handled = before is not signal.SIG_IGN and threading.current_thread() is threading.main_thread()
            if is_handled:
                signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                if is_handled:
                    signal.signal(signal.SIGHUP, before)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Drains on the first SIGTERM or SIGHUP; ends at once on a second signal or on SIGINT."""
        if self._draining is not None or sig == signal.SIGINT:
            self._door.draining = True
            super().handle_exit(sig, frame)
            return
        self._door.draining = True
        self._draining = asyncio.get_running_loop().create_task(self._drain_and_exit())

    async def _drain_and_exit(self) -> None:
        """Waits until the running executions have ended, then lets the server exit.

        Meanwhile new requests are refused with 429 and `/ready` answers 503, so that a load balancer sends them elsewhere.
        """
        log_event("draining", running=len(self._door.runs.active))
        ended = await self._door.runs.drain(self._door.config.drain_seconds)
        log_event("drained", broken_off=ended)
        self.should_exit = True
