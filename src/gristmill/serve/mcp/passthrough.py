"""One upstream shown as it is: its own tools, resources and prompts through our transport, guards and limits.

Messages are relayed, not interpreted: what the upstream answers goes back as it came, checked against the revision that the
client speaks. Policy, redaction and the ledger are NOT on this path: it is the test mode in which the conformance suite looks at
our transport, errors and guards. So it is on no list of options, and does not start beside rules that it would not keep.
"""

import logging
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
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.relay import Relay, Wire

log = logging.getLogger(__name__)

METHODS = (
    "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
    "resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel", "subscriptions/listen",
    "server/discover",
)  # fmt: skip
PLAIN = frozenset(("servers", "store", "serve"))
"""Sections of the configuration that make no promise about calls."""
WIRES = 8
"""Connections to the upstream for older clients: a request has one to itself, so that its questions find their way back."""


class Passthrough(Server[Any]):
    """Answers ``initialize`` as the upstream did."""

    upstream: InitializeResult

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What the upstream said, under our name."""
        ours = super().create_initialization_options(notification_options, experimental_capabilities, extensions)
        changed: dict[str, Any] = {"capabilities": self.upstream.capabilities, "instructions": self.upstream.instructions}
        return ours.model_copy(update=changed)

    def get_capabilities(self, *_: Any, **__: Any) -> ServerCapabilities:
        """What the upstream can do, we can."""
        return self.upstream.capabilities


@asynccontextmanager
async def relaying(config: Config, name: str) -> AsyncGenerator[Server[Any]]:
    """A server that relays everything to the configured server ``name``.

    Raises:
        ConfigError: there is no such server, or it is not one that is started by a command, or there are rules to keep.
    """
    if rules := sorted(config.model_fields_set - PLAIN):
        raise ConfigError(
            f"--passthrough relays a server as it is, without policy, masks or records, and the configuration has {rules[0]!r}: "
            f"call its tools through gristmill serve, with serve.direct_calls where a client wants single calls"
        )
    server = config.servers.get(name)
    if server is None or server.command is None:
        raise ConfigError(f"--passthrough wants the name of a server with a command; {name!r} is none")
    if server.confine is not None:
        raise ConfigError(f"--passthrough starts a server as it is, and {name!r} is to be confined")
    parameters = StdioServerParameters(command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd)
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())

        async def connect() -> Wire:
            wire = Wire()
            await tasks.start(_own, parameters, wire)
            return wire

        relay = Relay(connect, most=WIRES)
        passthrough = Passthrough("gristmill", version=__version__)
        passthrough.upstream = await relay.introduce()
        for method in METHODS:
            passthrough.add_request_handler(method, RequestParams, _handler(relay))
        passthrough.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="gristmill"))
        yield passthrough
        tasks.cancel_scope.cancel()


async def _own(parameters: StdioServerParameters, wire: Wire, *, task_status: Any = anyio.TASK_STATUS_IGNORED) -> None:
    """Own one connection: entered and left in this task."""
    async with stdio_client(parameters) as (reading, writing):
        await wire.run(reading, writing, task_status)


def _handler(relay: Relay) -> Any:
    async def handle(ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
        parameters: Mapping[str, Any] = ctx.params or {}
        if is_modern(ctx):
            return await relay.modern(ctx, ctx.method, parameters)
        return await relay.legacy(ctx, ctx.method, parameters)

    return handle
