"""Relays raw messages between a client and an upstream, in the era of the client.

Each request of an older client has a connection to itself while it lasts, so that a question of the upstream can only belong to
that request. Requests of the 2026 revision carry all that is needed with them and share one connection.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.abc
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import ServerMessageMetadata
from mcp_types import METHOD_NOT_FOUND, InitializeResult, server_notification_adapter, server_request_adapter
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ConfigDict

from gristmill import __version__
from gristmill.serve.mcp.questions.ask_client import Ctx

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
CONNECT_SECONDS = 30.0
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
"""The client capabilities that we declare to the upstream for older clients; what a client cannot do fails when it is asked."""


class _Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class RelayWire:
    """One connection to the upstream; ``ctx`` is the request that uses it now."""

    def __init__(self) -> None:
        self.ctx: Ctx | None = None
        self.listeners: dict[str, Ctx] = {}
        self._dispatcher: JSONRPCDispatcher[Any] | None = None

    async def run(self, reading: Any, writing: Any, status: anyio.abc.TaskStatus[None]) -> None:
        """Serves the connection until it closes; reports to ``status`` when it can be used."""
        self._dispatcher = JSONRPCDispatcher(reading, writing)
        await self._dispatcher.run(self._on_request, self._on_notify, task_status=status)

    async def send(self, method: str, params: Mapping[str, Any] | None, options: CallOptions | None = None) -> dict[str, Any]:
        """Sends a request and returns its answer."""
        assert self._dispatcher
        return await self._dispatcher.send_raw_request(method, params, options)

    async def send_notification(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification."""
        assert self._dispatcher
        await self._dispatcher.notify(method, params)

    async def _on_request(self, _dctx: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Passes a question of the upstream to the client of the current request and returns its answer."""
        if self.ctx is None:
            raise MCPError(code=METHOD_NOT_FOUND, message="there is no client to answer", data=method)
        request = server_request_adapter.validate_python({"method": method, "params": params}, by_name=False)
        answer = await self.ctx.session.send_request(request, _Anything, metadata=_relate_to_request(self.ctx))
        return answer.model_dump(mode="json")

    async def _on_notify(self, _dctx: Any, method: str, params: Mapping[str, Any] | None) -> None:
        meta: Mapping[str, Any] = (params or {}).get("_meta") or {}
        subscription = meta.get(SUBSCRIPTION)
        ctx = self.listeners.get(str(subscription)) if subscription is not None else self.ctx
        if ctx is None:
            return
        changed = dict(params or {})
        if subscription is not None:
            changed["_meta"] = {**meta, SUBSCRIPTION: ctx.request_id}
        note = server_notification_adapter.validate_python({"method": method, "params": changed}, by_name=False)
        await ctx.session.send_notification(note, related_request_id=ctx.request_id)


def _relate_to_request(ctx: Ctx) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=ctx.request_id)


class Relay:
    """Relays requests to the upstream; ``connect`` opens one more connection."""

    def __init__(self, connect: Callable[[], Awaitable[RelayWire]], *, most: int) -> None:
        self._connect = connect
        self._idle: list[RelayWire] = []
        self._slots = anyio.Semaphore(most)
        self._shared: RelayWire | None = None
        self._opening = anyio.Lock()  # only one shared connection, even if several requests need it at once
        self._numbers = itertools.count(1)

    async def initialize(self) -> InitializeResult:
        """Makes the first handshake, and returns what the upstream says about itself."""
        wire, result = await self._connect_and_initialize()
        self._idle.append(wire)
        return result

    async def relay_legacy(self, ctx: Ctx, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Relays one request of an older client."""
        async with self._slots:
            wire = self._idle.pop() if self._idle else (await self._connect_and_initialize())[0]
            wire.ctx = ctx
            try:
                return await wire.send(method, params, _build_call_options(ctx))
            finally:
                wire.ctx = None
                self._idle.append(wire)

    async def relay_modern(self, ctx: Ctx, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Relays one request of a client of the 2026 revision."""
        async with self._opening:
            if self._shared is None:
                self._shared = await self._connect()
        options = _build_call_options(ctx)
        number = f"relay-{next(self._numbers)}"
        options["request_id"] = number
        if method == "subscriptions/listen":
            self._shared.listeners[number] = ctx
        try:
            answer = await self._shared.send(method, params, options)
        finally:
            self._shared.listeners.pop(number, None)
        return answer

    async def _connect_and_initialize(self) -> tuple[RelayWire, InitializeResult]:
        wire = await self._connect()
        us = {"name": "gristmill", "version": __version__}
        hello = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": CAPABILITIES, "clientInfo": us}
        with anyio.fail_after(CONNECT_SECONDS):
            result = InitializeResult.model_validate(await wire.send("initialize", hello), by_name=False)
            await wire.send_notification("notifications/initialized")
        return wire, result


def _build_call_options(ctx: Ctx) -> CallOptions:
    options: CallOptions = {}
    if ctx.meta and ctx.meta.get("progress_token") is not None:
        options["on_progress"] = ctx.session.report_progress
    return options
