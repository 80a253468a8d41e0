"""Makes a backend from what a program has: an open runtime, a client of the service, or the service's address."""

import asyncio
import os
import weakref
from typing import Any

from gristmill.blocking import BlockingRuntime
from gristmill.chat.code_backends import CodeBackend, HttpBackend, RuntimeBackend
from gristmill.errors import ConfigError
from gristmill.http_client import AsyncClient, Client
from gristmill.runtime.runtime import Runtime
from gristmill.serve.langchain.loop_bridge import LoopBridge, start_loop

GivenSource = Runtime | BlockingRuntime | AsyncClient | Client | str
TOKEN, APPROVER_TOKEN = "GRISTMILL_TOKEN", "GRISTMILL_APPROVER_TOKEN"
"""The variables of the environment with the tokens for a service that is given by its address."""


def open_source(given: GivenSource, *, token: str | None = None, approver: str | None = None) -> tuple[CodeBackend, LoopBridge]:
    """Returns the backend and the way to its event loop. ``token`` and ``approver`` are tokens for an address.

    Raises:
        ConfigError: it is none of these, or a token was given for something other than an address.
    """
    if isinstance(given, str):
        return _connect(given, token or os.environ.get(TOKEN), approver or os.environ.get(APPROVER_TOKEN))
    if token is not None or approver is not None:
        raise ConfigError("token and approver belong to an address; a client has its own token, a runtime needs none")
    # Any: a caller without a type checker may pass anything.
    source: Any = given
    match source:
        case Runtime():
            return RuntimeBackend(source), LoopBridge(source.loop)
        case BlockingRuntime():
            return RuntimeBackend(source.runtime), LoopBridge(source.runtime.loop)
        case Client():
            return HttpBackend(source.client), LoopBridge(source.loop)
        case AsyncClient():
            return HttpBackend(source), LoopBridge(_get_loop())
        case _:
            raise ConfigError(
                f"{type(source).__name__} cannot run code: give an open Runtime or BlockingRuntime, a client, or an address"
            )


def _connect(url: str, token: str | None, approver: str | None) -> tuple[CodeBackend, LoopBridge]:
    loop = start_loop()

    async def make_clients() -> list[AsyncClient]:
        return [AsyncClient(url, token=each) for each in ((token, approver) if approver else (token,))]

    clients = asyncio.run_coroutine_threadsafe(make_clients(), loop).result()
    backend = HttpBackend(*clients)
    # Agents are not closed: their connections are, when nothing uses the backend any more.
    weakref.finalize(backend, _close_clients, loop, clients).atexit = False
    return backend, LoopBridge(loop)


def _close_clients(loop: asyncio.AbstractEventLoop, clients: list[AsyncClient]) -> None:
    async def close_all() -> None:
        for client in clients:
            await client.close()
        loop.stop()

    asyncio.run_coroutine_threadsafe(close_all(), loop)


def _get_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigError("an AsyncClient is bound to an event loop: give it where that loop runs, or give a Client") from None
