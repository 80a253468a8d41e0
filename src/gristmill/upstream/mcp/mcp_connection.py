"""One live connection to one MCP server: negotiation, calls, changes of the tool list. supervisor.py decides when to connect."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any, Literal

import anyio
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from gristmill.events import CallProgressed, Emit, ignore_event
from gristmill.model import ToolCall
from gristmill.upstream.base import Ask, InputAnswer, InputRequest
from gristmill.upstream.listing.repair_listing import ListingRepair
from gristmill.upstream.mcp.carried_results import CarriedResult, unpack_result
from gristmill.upstream.surroundings import assume_listener

Era = Literal["legacy", "modern"]
Mode = Literal["auto", "legacy"]
Dial = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens the transport and yields the SDK's pair of streams."""

_PROGRESS_CAP = 1_000
"""Progress messages passed on per call. The server decides how many it sends, so there must be a cap."""

_MOST_QUESTION_ROUNDS = 8
"""How often one call may answer with further questions."""

_current_call: ContextVar["_CallUnderWay | None"] = ContextVar("calling", default=None)


class _CallUnderWay(Struct, kw_only=True):
    """A call under way: its deadline, and how many progress messages it has sent."""

    call: ToolCall
    scope: anyio.CancelScope
    progressed: int = 0


class ConnectionHooks(Struct, frozen=True, kw_only=True):
    """The functions that a connection calls: for events, questions, and changes of the tool list."""

    server: str
    emit: Emit
    has_listener: Callable[[str], bool] = assume_listener
    ask: Ask | None = None
    on_tools_changed: Callable[[], None] = lambda: None


class McpConnection:
    """A negotiated connection. Any task may call it; only its owner enters and leaves it."""

    def __init__(self, client: Client, hooks: ConnectionHooks, closed: anyio.Event, calls: dict[int, _CallUnderWay]) -> None:
        self.client = client
        self.closed = closed
        self._hooks = hooks
        self._calls = calls

    @property
    def era(self) -> Era:
        """Returns the family of protocol revisions that the server speaks."""
        return "modern" if self.client.protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"

    async def call(self, tool: str, call: ToolCall, seconds: float) -> CarriedResult:
        """Calls ``tool``. The time that a person takes to answer a question does not count.

        Raises:
            TimeoutError: there was no answer within ``seconds``.
        """
        with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
            current = _CallUnderWay(call=call, scope=scope)
            token = _current_call.set(current)
            self._calls[id(current)] = current
            try:
                result = await self.client.call_tool(
                    tool, dict(call.arguments), progress_callback=self._make_progress_callback(current)
                )
                return unpack_result(result)
            finally:
                del self._calls[id(current)]
                _current_call.reset(token)
        raise TimeoutError

    @property
    def is_busy(self) -> bool:
        """Whether calls are under way. A server with one thread answers nothing else during a call."""
        return bool(self._calls)

    @property
    def needs_subscription(self) -> bool:
        """Whether changes of the tool list must be subscribed to. Older servers send them without a subscription."""
        tools = self.client.server_capabilities.tools
        return self.era == "modern" and bool(tools and tools.list_changed)

    async def check_health(self) -> None:
        """Checks that the server still answers."""
        if self.era == "legacy":
            await self.client.session.send_ping()
        else:
            await self.client.session.send_discover(self.client.protocol_version)

    async def follow_changes(self) -> None:
        """Subscribes to changes of the tool list and reports them until the subscription ends."""
        async with self.client.listen(tools_list_changed=True) as events:
            self._hooks.on_tools_changed()  # changes from before the subscription are not replayed, so assume one
            async for _ in events:
                self._hooks.on_tools_changed()

    def _make_progress_callback(self, current: _CallUnderWay) -> ProgressFnT | None:
        call = current.call
        if self._hooks.emit is ignore_event or not self._hooks.has_listener(call.execution):
            return None  # no one would receive it, and reporting progress costs the server time

        async def report(progress: float, total: float | None, message: str | None) -> None:
            current.progressed += 1
            if current.progressed <= _PROGRESS_CAP:
                self._hooks.emit(
                    CallProgressed(
                        execution=call.execution,
                        call=call.id,
                        tool=call.tool,
                        progress=progress,
                        total=total,
                        message=message[:500] if message else None,
                    )
                )

        return report


@asynccontextmanager
async def open_connection(dial: Dial, mode: Mode, hooks: ConnectionHooks) -> AsyncGenerator[McpConnection]:
    """Opens the transport and negotiates. Foreign exceptions are not translated here; the supervisor translates them."""
    closed = anyio.Event()
    calls: dict[int, _CallUnderWay] = {}
    transport = ListingRepair(dial(), closed=closed)

    async def on_message(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            hooks.on_tools_changed()

    client = Client(
        transport,
        mode=mode,
        cache=None,
        client_info=Implementation(name="gristmill", version=version("gristmill")),
        message_handler=on_message,
        elicitation_callback=_make_elicitation_callback(hooks, calls) if hooks.ask else None,
        input_required_max_rounds=_MOST_QUESTION_ROUNDS,
    )
    async with client:
        transport.version = client.protocol_version
        # The SDK's own check is slow and needs a listing first; results are checked in output_checks.py instead.
        client.session.validate_tool_result = _accept_result
        yield McpConnection(client, hooks, closed, calls)


async def _accept_result(name: str, result: CallToolResult) -> None:
    """Replaces the SDK's output validation; accepts every result."""


def _make_elicitation_callback(hooks: ConnectionHooks, calls: dict[int, _CallUnderWay]) -> Any:
    async def elicit(_context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert hooks.ask
        # Servers of the newest revision ask within the call's own task; older ones do not say which call a question belongs to.
        current = _current_call.get() or (next(iter(calls.values())) if len(calls) == 1 else None)
        asked = list(calls.values()) if current is None else [current]
        deadlines = [(call, call.scope.deadline - anyio.current_time()) for call in asked]
        for call in asked:
            call.scope.deadline = math.inf
        try:
            answer = await hooks.ask(_make_input_request(hooks.server, current, params))
        finally:
            for call, left in deadlines:
                call.scope.deadline = anyio.current_time() + left
        return _make_elicit_result(answer)

    return elicit


def _make_input_request(server: str, current: _CallUnderWay | None, params: ElicitRequestParams) -> InputRequest:
    call = current.call if current else None
    if isinstance(params, ElicitRequestFormParams):
        return InputRequest(server=server, call=call, message=params.message, schema=params.requested_schema)
    return InputRequest(server=server, call=call, message=params.message, url=params.url)


def _make_elicit_result(answer: InputAnswer) -> ElicitResult:
    content: Any = dict(answer.content) if answer.content is not None else None  # scalars; the SDK checks them
    return ElicitResult(action=answer.action, content=content)
