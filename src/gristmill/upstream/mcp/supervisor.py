"""One supervisor task per MCP server: it connects, lists, watches and reconnects. A caller waits for its own server only."""

import logging
import math
from itertools import count

import anyio
import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from msgspec import UNSET

from gristmill.errors import Error, UpstreamTimeout, UpstreamUnavailable
from gristmill.events import SERVER_OUTPUT, ServerChanged, ToolsListed
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, State, check_tool_listed
from gristmill.upstream.circuit_breaker import CircuitBreaker
from gristmill.upstream.listing.list_tools import list_tools
from gristmill.upstream.listing.remembered_tools import RememberedTools
from gristmill.upstream.mcp.carried_results import CarriedResult
from gristmill.upstream.mcp.mcp_connection import ConnectionHooks, Dial, Era, McpConnection, Mode, open_connection
from gristmill.upstream.mcp.tool_answer import read_answer
from gristmill.upstream.mcp.tool_results import convert_result
from gristmill.upstream.mcp.translate_errors import (
    SESSION_LOST,
    is_connection_lost,
    mask_error,
    server_hung_up,
    translate_error,
    wants_newer_protocol,
)
from gristmill.upstream.mcp.unwrap_results import unwrap_result
from gristmill.upstream.output_checks import OutputChecks
from gristmill.upstream.server_terms import OutsideHooks, ServerTerms
from gristmill.upstream.short_text import shorten_to_line

log = logging.getLogger(__name__)

_CHECK_SECONDS = 10.0
_SLACK = 10.0
"""Seconds added to the time to connect: stopping a server that ignores SIGTERM takes this long."""


class SupervisedServer:
    """An MCP server under a supervisor, as an ``Upstream``."""

    def __init__(self, name: str, dial: Dial, terms: ServerTerms, outside: OutsideHooks, known: RememberedTools) -> None:
        self._name = name
        self._dial = dial
        self._terms = terms
        self._outside = outside
        self._hooks = ConnectionHooks(
            server=name,
            emit=outside.emit,
            has_listener=outside.has_listener,
            ask=outside.ask,
            on_tools_changed=self._request_relist,
        )
        self._era: Era | None = "legacy" if terms.legacy else known.era
        self._state: State = "idle"
        self._error: str | None = None
        self._output_at_failure: tuple[str, ...] = ()
        self._checks = OutputChecks()
        self._breaker = CircuitBreaker(clock=anyio.current_time)
        self._connection: McpConnection | None = None
        self._wanted = anyio.Event()
        self._outcome = anyio.Event()  # set when the attempt under way, or else the next one, has ended
        self._settled = anyio.Event()
        self._changed = anyio.Event()
        self._is_listed = False
        self._set_tools(known.tools)

    @property
    def name(self) -> str:
        """Returns the name from the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns the tools as last listed."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """Returns the state as one row of a table."""
        kind, tools = self._terms.kind, len(self._tools)
        return ServerStatus(name=self._name, kind=kind, state=self._state, tools=tools, era=self._era, error=self._error)

    @property
    def is_listed(self) -> bool:
        """Whether the server itself has listed its tools in this process."""
        return self._is_listed

    @property
    def last_output(self) -> tuple[str, ...]:
        """Returns the last lines that the server's program wrote to stderr, without secrets."""
        return tuple(self._outside.mask(line) for line in self._outside.read_output() or self._output_at_failure)

    async def run(self) -> None:
        """Keeps the server connected after its first use, until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                self._record_failure(await self._attempt_connection())
                # A call ends the wait early, if the breaker allows it; otherwise we reconnect when the wait is over.
                with anyio.move_on_after(self._terms.backoff.delay(self._breaker.failures, self._outside.dice)):
                    await self._wanted.wait()
                self._wanted.set()
        finally:
            self._state = "closed"
            self._settled.set()
            self._outcome.set()

    async def wait_until_settled(self) -> None:
        """Starts the first attempt to connect, if needed, and returns when it has ended."""
        self._wanted.set()
        with anyio.move_on_after(self._terms.connect_seconds + _SLACK):
            await self._settled.wait()

    async def connect(self) -> None:
        """Returns when there is a connection over which the tools have been listed; connects if there is none.

        Raises:
            UpstreamUnavailable: the breaker is open, or the attempt failed.
        """
        await self._get_connection()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Calls ``tool``. A call is repeated only if the server did not accept it because it had lost our session."""
        connection = await self._get_connection()
        if tool not in self._names:
            check_tool_listed(tool, self._name, self._tools)
        listed = self._tools
        try:
            result = await self._call_once(connection, tool, call)
        except _SessionLostError:
            connection = await self._get_connection()
            self._check_unchanged(tool, listed)
            result = await self._call_once(connection, tool, call)
        self._breaker.record_success()
        try:
            if result.is_large:
                return ToolResult(value=await anyio.to_thread.run_sync(self._read_result, tool, result))
            return ToolResult(value=self._read_result(tool, result))
        except Error as error:
            raise mask_error(error, self._outside.mask) from None

    def _check_unchanged(self, tool: str, listed: tuple[Tool, ...]) -> None:
        """Checks that a tool is still what it was in ``listed``: the call was allowed for that definition.

        Raises:
            UpstreamUnavailable: the server came back with another definition.
        """
        if [one for one in listed if one.name == tool] != [one for one in self._tools if one.name == tool]:
            raise UpstreamUnavailable(
                f"{self._name} lost our session and came back with another definition of {tool}: the call was not sent again"
            )

    def _read_result(self, tool: str, result: CarriedResult) -> Json:
        answer = read_answer(result.fields)
        if not answer.is_error:
            answer = unwrap_result(answer, self._checks.schema(tool))
            structured = answer.structured_content
            if self._terms.check_output and structured is not UNSET and structured is not None:
                self._checks.check(tool, structured)
        return convert_result(answer, self._terms.limits)

    async def _call_once(self, connection: McpConnection, tool: str, call: ToolCall) -> CarriedResult:
        try:
            return await connection.call(tool, call, self._terms.call_seconds)
        except Exception as error:  # the edge of this room: every exception of the SDK is translated here
            self._close_if_lost(connection, error)
            raise mask_error(translate_error(error, self._name), self._outside.mask) from None

    def _close_if_lost(self, connection: McpConnection, error: Exception) -> None:
        """Decides from a failed call whether the connection is lost, and closes it if so.

        Raises:
            _SessionLostError: the server has lost our session and did not accept the call.
        """
        if isinstance(error, TimeoutError):
            self._breaker.record_failure()
            lost = self._breaker.is_open  # several calls in a row had no answer: a new process may answer
        else:
            lost = is_connection_lost(error)
        if lost:
            self._error = str(translate_error(error, self._name))
            connection.closed.set()
        if isinstance(error, MCPError) and error.message == SESSION_LOST:
            raise _SessionLostError

    async def _get_connection(self) -> McpConnection:
        """Returns the connection; waits for the attempt under way, or starts one.

        Raises:
            UpstreamUnavailable: the breaker is open, or the attempt failed.
        """
        if self._connection is not None:
            if not self._connection.closed.is_set():
                return self._connection
            self._forget_connection()  # closed, but the supervisor task has not noticed yet
        if self._breaker.is_open:
            raise UpstreamUnavailable(
                f"{self._name} keeps failing ({self._error}); next try in {math.ceil(self._breaker.retry_in)} s"
            )
        outcome = self._outcome
        self._wanted.set()
        with anyio.move_on_after(self._terms.connect_seconds + _SLACK):
            await outcome.wait()
        if self._connection is None:
            raise UpstreamUnavailable(self._error or f"{self._name} cannot be reached")
        return self._connection

    async def _attempt_connection(self) -> BaseException:
        """Connects and stays connected; returns the reason why the connection ended."""
        self._enter_state("connecting")
        failure = await self._hold_connection("legacy" if self._era == "legacy" else "auto")
        if self._state == "connecting" and self._era is None and server_hung_up(failure):
            failure = await self._hold_connection("legacy")
        elif self._state == "connecting" and self._era == "legacy" and wants_newer_protocol(failure):
            self._era = None
            failure = await self._hold_connection("auto")
        return failure

    async def _hold_connection(self, mode: Mode) -> BaseException:
        """Holds one connection in ``mode``; returns the reason why it ended."""
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._terms.connect_seconds) as scope:
                async with open_connection(self._dial, mode, self._hooks) as connection:
                    await self._relist(connection)
                    scope.deadline = math.inf
                    self._mark_ready(connection)
                    await self._watch_connection(connection)
        except Exception as error:  # a supervisor must survive every failure of its server
            return error
        finally:
            self._forget_connection()
        if scope.cancelled_caught:
            return UpstreamTimeout(f"{self._name} was not ready within {self._terms.connect_seconds:g} s")
        return UpstreamUnavailable(f"{self._name} closed the connection")

    def _mark_ready(self, connection: McpConnection) -> None:
        self._connection = connection
        self._enter_state("ready")
        self._outcome.set()
        self._settled.set()

    def _forget_connection(self) -> None:
        self._connection = None
        if self._outcome.is_set():
            self._outcome = anyio.Event()

    def _record_failure(self, failure: BaseException) -> None:
        self._breaker.record_failure()
        was_ready = self._state == "ready"
        error = mask_error(translate_error(failure, self._name), self._outside.mask)
        self._output_at_failure = self._outside.read_output()  # the next process starts with nothing
        said = self._outside.mask(shorten_to_line(self._outside.describe_failure()))
        self._enter_state("failed", error=f"{error}{SERVER_OUTPUT}{said}" if said else str(error))
        if not was_ready:  # callers that lost a working connection wait for the next attempt instead
            outcome, self._outcome = self._outcome, anyio.Event()
            outcome.set()
        self._settled.set()

    async def _watch_connection(self, connection: McpConnection) -> None:
        """Watches an open connection until it is closed."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_changes, connection)
            tasks.start_soon(self._relist_on_change, connection)
            tasks.start_soon(self._check_health, connection)
            await connection.closed.wait()
            tasks.cancel_scope.cancel()

    async def _follow_changes(self, connection: McpConnection) -> None:
        for failures in count(1):
            if not connection.needs_subscription:
                return
            try:
                await connection.follow_changes()
            except Exception as error:  # a lost subscription is no reason to close the connection
                log.debug("%s: listening for changes ended: %s", self._name, type(error).__name__)
            await anyio.sleep(self._terms.backoff.delay(failures, self._outside.dice))

    async def _relist_on_change(self, connection: McpConnection) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self._terms.connect_seconds):
                    await self._relist(connection)
            except Exception as error:  # the old list stays until the server sends a valid new one
                self._error = str(mask_error(translate_error(error, self._name), self._outside.mask))
            await anyio.sleep(self._terms.relist_seconds)  # an upper bound on how often we list, however often the tools change

    async def _check_health(self, connection: McpConnection) -> None:
        while self._terms.health_seconds:
            await anyio.sleep(self._terms.health_seconds)
            if connection.is_busy:
                continue
            try:
                with anyio.fail_after(_CHECK_SECONDS):
                    await connection.check_health()
            except MCPError as error:
                if is_connection_lost(error):
                    connection.closed.set()  # any other error is an answer too: the server is alive
            except TimeoutError:
                connection.closed.set()

    async def _relist(self, connection: McpConnection) -> None:
        self._era = connection.era
        tools: tuple[Tool, ...] = ()
        try:
            tools = await list_tools(connection.client, self._name, self._terms.tool_filter)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:  # a server without tools need not know the method
                raise
        if tools != self._tools or not self._settled.is_set():
            self._set_tools(tools)
            self._outside.emit(ToolsListed(server=self._name, tools=len(tools)))
            remembered = RememberedTools(era=self._era, tools=tools)
            self._is_listed = True
            await anyio.to_thread.run_sync(self._outside.save_tools, remembered)
        self._is_listed = True

    def _set_tools(self, tools: tuple[Tool, ...]) -> None:
        self._tools = tools
        self._names = frozenset(tool.name for tool in tools)
        self._checks.set_schemas({tool.name: tool.output_schema for tool in tools if tool.output_schema is not None})

    def _request_relist(self) -> None:
        self._changed.set()

    def _enter_state(self, state: State, *, error: str | None = None) -> None:
        self._state = state
        self._error = error if state != "connecting" else self._error
        self._outside.emit(ServerChanged(server=self._name, state=state, error=error))


class _SessionLostError(Exception):
    """The server has lost our session and did not accept the call."""
