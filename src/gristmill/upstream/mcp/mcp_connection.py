"""One live connection to one MCP server: negotiate, list, call, hear of changes. Above it `supervise` decides when."""

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

from gristmill.events import CallProgressed, Emit, ignore
from gristmill.model import ToolCall
from gristmill.upstream.base import Ask, InputAnswer, InputRequest
from gristmill.upstream.mcp.repair_listing import Mending
from gristmill.upstream.surroundings import always
from gristmill.values import dataclass

Era = Literal["legacy", "modern"]
Mode = Literal["auto", "legacy"]
Dial = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens the transport: the SDK's pair of streams."""

_PROGRESS_CAP = 1_000
"""Progress messages passed on per call; a server may send them without end."""

_ROUNDS = 8
"""Times that one call may come back with more questions."""

_calling: ContextVar["_Call | None"] = ContextVar("calling", default=None)


@dataclass(slots=True, kw_only=True)
class _Call:
    call: ToolCall
    scope: anyio.CancelScope
    progressed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Whom a connection tells what."""

    server: str
    emit: Emit
    heard: Callable[[str], bool] = always
    ask: Ask | None = None
    changed: Callable[[], None] = lambda: None


class Connection:
    """A negotiated connection; usable from any task, entered and left by its owner."""

    def __init__(self, client: Client, hooks: Hooks, closed: anyio.Event, calls: dict[int, _Call]) -> None:
        self.client = client
        self.closed = closed
        self._hooks = hooks
        self._calls = calls

    @property
    def era(self) -> Era:
        """Which family of revisions the server speaks."""
        return "modern" if self.client.protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"

    async def call(self, tool: str, call: ToolCall, seconds: float) -> CallToolResult:
        """Call ``tool``; the time a person takes to answer a question does not count.

        Raises:
            TimeoutError: no answer within ``seconds``.
        """
        with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
            current = _Call(call=call, scope=scope)
            token = _calling.set(current)
            self._calls[id(current)] = current
            try:
                return await self.client.call_tool(tool, dict(call.arguments), progress_callback=self._progress(current))
            finally:
                del self._calls[id(current)]
                _calling.reset(token)
        raise TimeoutError

    @property
    def is_busy(self) -> bool:
        """Whether calls are under way; a server with one thread answers nothing else meanwhile."""
        return bool(self._calls)

    @property
    def reports_changes(self) -> bool:
        """Whether one has to listen for changes; older servers send them unasked."""
        tools = self.client.server_capabilities.tools
        return self.era == "modern" and bool(tools and tools.list_changed)

    async def check(self) -> None:
        """Ask for a sign of life."""
        if self.era == "legacy":
            await self.client.session.send_ping()
        else:
            await self.client.session.send_discover(self.client.protocol_version)

    async def follow(self) -> None:
        """Report changes of the tool list until the stream of them ends."""
        async with self.client.listen(tools_list_changed=True) as events:
            self._hooks.changed()  # nothing is replayed: what changed before we listened is unknown
            async for _ in events:
                self._hooks.changed()

    def _progress(self, current: _Call) -> ProgressFnT | None:
        call = current.call
        if self._hooks.emit is ignore or not self._hooks.heard(call.execution):
            return None  # asking for progress costs the server something, too

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
async def open_connection(dial: Dial, mode: Mode, hooks: Hooks) -> AsyncGenerator[Connection]:
    """Dial and negotiate. Foreign exceptions leave as they are; the supervisor translates them."""
    closed = anyio.Event()
    calls: dict[int, _Call] = {}
    transport = Mending(dial(), closed=closed)

    async def on_message(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            hooks.changed()

    client = Client(
        transport,
        mode=mode,
        cache=None,
        client_info=Implementation(name="gristmill", version=version("gristmill")),
        message_handler=on_message,
        elicitation_callback=_elicitation(hooks, calls) if hooks.ask else None,
        input_required_max_rounds=_ROUNDS,
    )
    async with client:
        transport.version = client.protocol_version
        # The SDK's own check is slow and asks for a listing first; results are checked in `outputs`.
        client.session.validate_tool_result = _unchecked
        yield Connection(client, hooks, closed, calls)


async def _unchecked(name: str, result: CallToolResult) -> None:
    """Stands in for the SDK's output validation."""


def _elicitation(hooks: Hooks, calls: dict[int, _Call]) -> Any:
    async def elicit(_context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert hooks.ask
        # The newest revision asks inside the call's own task; older ones do not say which call they ask for.
        current = _calling.get() or (next(iter(calls.values())) if len(calls) == 1 else None)
        asked = list(calls.values()) if current is None else [current]
        deadlines = [(call, call.scope.deadline - anyio.current_time()) for call in asked]
        for call in asked:
            call.scope.deadline = math.inf
        try:
            answer = await hooks.ask(_request(hooks.server, current, params))
        finally:
            for call, left in deadlines:
                call.scope.deadline = anyio.current_time() + left
        return _answer(answer)

    return elicit


def _request(server: str, current: _Call | None, params: ElicitRequestParams) -> InputRequest:
    call = current.call if current else None
    if isinstance(params, ElicitRequestFormParams):
        return InputRequest(server=server, call=call, message=params.message, schema=params.requested_schema)
    return InputRequest(server=server, call=call, message=params.message, url=params.url)


def _answer(answer: InputAnswer) -> ElicitResult:
    content: Any = dict(answer.content) if answer.content is not None else None  # scalars; the SDK checks them
    return ElicitResult(action=answer.action, content=content)
