"""Relays one MCP server unchanged: its own tools, resources and prompts, through our transport, guards and limits.

Messages are relayed, not interpreted: the server's answers go back unchanged, checked against the revision that the client speaks.
Policy, redaction and the ledger are not on this path: the conformance suite examines our transport, errors and guards with it.

``python -m tests.conformance.passthrough COMMAND ARGS...`` listens on a free port of this machine and prints its address.
"""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import InitializeResult, RequestParams, ServerCapabilities

from gristmill import __version__
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.transport.mcp_over_http import LOOPBACK
from tests.conformance.relay import Relay, RelayWire
from tests.conformance.serve_at_address import serve_at_address

METHODS = (
    "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
    "resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel", "subscriptions/listen",
    "server/discover",
)  # fmt: skip
MOST_WIRES = 8
"""How many connections to the upstream there are for older clients: each request has one to itself, so that questions of the
upstream go to the right client."""


class Passthrough(Server[Any]):
    """A server that answers ``initialize`` as the upstream did."""

    upstream: InitializeResult

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Returns the upstream's capabilities and instructions, under our name."""
        ours = super().create_initialization_options(notification_options, experimental_capabilities, extensions)
        changed: dict[str, Any] = {"capabilities": self.upstream.capabilities, "instructions": self.upstream.instructions}
        return ours.model_copy(update=changed)

    def get_capabilities(self, *_: Any, **__: Any) -> ServerCapabilities:
        """Returns the capabilities of the upstream."""
        return self.upstream.capabilities


@asynccontextmanager
async def open_passthrough(parameters: StdioServerParameters) -> AsyncGenerator[Server[Any]]:
    """Opens a server that relays everything to the program that ``parameters`` start."""
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())

        async def connect() -> RelayWire:
            wire = RelayWire()
            await tasks.start(_own_connection, parameters, wire)
            return wire

        relay = Relay(connect, most=MOST_WIRES)
        passthrough = Passthrough("gristmill", version=__version__)
        passthrough.upstream = await relay.initialize()
        for method in METHODS:
            passthrough.add_request_handler(method, RequestParams, _build_handler(relay))
        passthrough.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="gristmill"))
        yield passthrough
        tasks.cancel_scope.cancel()


async def _own_connection(
    parameters: StdioServerParameters, wire: RelayWire, *, task_status: Any = anyio.TASK_STATUS_IGNORED
) -> None:
    """Opens and closes one connection in a task of its own."""
    async with stdio_client(parameters) as (reading, writing):
        await wire.run(reading, writing, task_status)


def _build_handler(relay: Relay) -> Any:
    async def handle(ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
        parameters: Mapping[str, Any] = ctx.params or {}
        if is_modern(ctx):
            return await relay.relay_modern(ctx, ctx.method, parameters)
        return await relay.relay_legacy(ctx, ctx.method, parameters)

    return handle


async def main() -> None:
    """Serves the relay of the program that the command line names, until interrupted."""
    command, *args = sys.argv[1:]
    async with open_passthrough(StdioServerParameters(command=command, args=args)) as server:
        await serve_at_address(server, None, host="127.0.0.1", port=0, token=None, hosts=LOOPBACK)


if __name__ == "__main__":
    anyio.run(main)
