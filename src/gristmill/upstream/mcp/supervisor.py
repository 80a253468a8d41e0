"""One owner task per MCP server: connect, list, watch, reconnect. Callers only ever wait for their own server."""

import logging
import math
from itertools import count

import anyio
import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, CallToolResult

from gristmill.errors import Error, UpstreamTimeout, UpstreamUnavailable
from gristmill.events import ServerChanged, ToolsListed
from gristmill.model import Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, State, check_known
from gristmill.upstream.circuit_breaker import Breaker
from gristmill.upstream.mcp.list_tools import list_tools
from gristmill.upstream.mcp.mcp_connection import Connection, Dial, Era, Hooks, Mode, open_connection
from gristmill.upstream.mcp.tool_results import to_value
from gristmill.upstream.mcp.translate_errors import SESSION_LOST, died_on_probe, is_lost, translate, wants_newer
from gristmill.upstream.mcp.unwrap_results import unwrapped
from gristmill.upstream.output_checks import OutputChecks
from gristmill.upstream.remembered_tools import Remembered
from gristmill.upstream.server_terms import Outside, Terms
from gristmill.upstream.short_text import one_line

log = logging.getLogger(__name__)

_CHECK_SECONDS = 10.0
_SLACK = 10.0
"""Beyond the time to connect: stopping a server that does not want to end takes that long."""


class Supervised:
    """An MCP server behind a supervisor; an ``Upstream``."""

    def __init__(self, name: str, dial: Dial, terms: Terms, outside: Outside, known: Remembered) -> None:
        self._name = name
        self._dial = dial
        self._terms = terms
        self._outside = outside
        self._hooks = Hooks(server=name, emit=outside.emit, heard=outside.heard, ask=outside.ask, changed=self._on_change)
        self._era: Era | None = "legacy" if terms.legacy else known.era
        self._state: State = "idle"
        self._error: str | None = None
        self._checks = OutputChecks()
        self._breaker = Breaker(clock=anyio.current_time)
        self._connection: Connection | None = None
        self._wanted = anyio.Event()
        self._outcome = anyio.Event()  # of the attempt under way, or of the next one
        self._settled = anyio.Event()
        self._changed = anyio.Event()
        self._set_tools(known.tools)

    @property
    def name(self) -> str:
        """As in the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As last listed."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """One row of a table."""
        kind, tools = self._terms.kind, len(self._tools)
        return ServerStatus(name=self._name, kind=kind, state=self._state, tools=tools, era=self._era, error=self._error)

    async def run(self) -> None:
        """Keep the server connected while it is wanted, until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                self._failed(await self._attempt())
                # A caller cuts the wait short, if the breaker lets it; otherwise we come back by ourselves.
                with anyio.move_on_after(self._terms.backoff.delay(self._breaker.failures, self._outside.dice)):
                    await self._wanted.wait()
                self._wanted.set()
        finally:
            self._state = "closed"
            self._settled.set()
            self._outcome.set()

    async def settled(self) -> None:
        """Return once a first attempt has ended."""
        self._wanted.set()
        with anyio.move_on_after(self._terms.connect_seconds + _SLACK):
            await self._settled.wait()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Call ``tool``; only a call that the server refused to take for want of a session is sent again."""
        connection = await self._connected()
        if tool not in self._names:
            check_known(tool, self._name, self._tools)
        try:
            result = await self._call(connection, tool, call)
        except _SessionLostError:
            result = await self._call(await self._connected(), tool, call)
        self._breaker.succeeded()
        try:
            if not result.is_error:
                result = unwrapped(result, self._checks.schema(tool))
            if self._terms.check_output and result.structured_content is not None and not result.is_error:
                self._checks.check(tool, result.structured_content)
            return ToolResult(value=to_value(result))
        except Error as error:
            raise self._masked(error) from None

    async def _call(self, connection: Connection, tool: str, call: ToolCall) -> CallToolResult:
        try:
            return await connection.call(tool, call, self._terms.call_seconds)
        except Exception as error:  # the edge of this room: whatever the SDK raises becomes ours here
            self._judge(connection, error)
            raise self._masked(translate(error, self._name)) from None

    def _judge(self, connection: Connection, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            self._breaker.failed()
            lost = self._breaker.is_open  # it has not answered for a while: a new process may
        else:
            lost = is_lost(error)
        if lost:
            self._error = str(translate(error, self._name))
            connection.closed.set()
        if isinstance(error, MCPError) and error.message == SESSION_LOST:
            raise _SessionLostError

    async def _connected(self) -> Connection:
        if self._connection is not None:
            if not self._connection.closed.is_set():
                return self._connection
            self._lost()  # its owner has not noticed yet
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

    async def _attempt(self) -> BaseException:
        """Connect and stay; return why it ended."""
        self._enter("connecting")
        failure = await self._live("legacy" if self._era == "legacy" else "auto")
        if self._state == "connecting" and self._era is None and died_on_probe(failure):
            failure = await self._live("legacy")
        elif self._state == "connecting" and self._era == "legacy" and wants_newer(failure):
            self._era = None
            failure = await self._live("auto")
        return failure

    async def _live(self, mode: Mode) -> BaseException:
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._terms.connect_seconds) as scope:
                async with open_connection(self._dial, mode, self._hooks) as connection:
                    await self._relist(connection)
                    scope.deadline = math.inf
                    self._ready(connection)
                    await self._tend(connection)
        except Exception as error:  # a supervisor must survive whatever its server does
            return error
        finally:
            self._lost()
        if scope.cancelled_caught:
            return UpstreamTimeout(f"{self._name} was not ready within {self._terms.connect_seconds:g} s")
        return UpstreamUnavailable(f"{self._name} closed the connection")

    def _ready(self, connection: Connection) -> None:
        self._connection = connection
        self._enter("ready")
        self._outcome.set()
        self._settled.set()

    def _lost(self) -> None:
        self._connection = None
        if self._outcome.is_set():
            self._outcome = anyio.Event()

    def _failed(self, failure: BaseException) -> None:
        self._breaker.failed()
        was_ready = self._state == "ready"
        error = self._masked(translate(failure, self._name))
        words = self._outside.mask(one_line(self._outside.explain()))
        self._enter("failed", error=f"{error}; it said: {words}" if words else str(error))
        if not was_ready:  # whoever lost a connection that worked waits for the next one
            outcome, self._outcome = self._outcome, anyio.Event()
            outcome.set()
        self._settled.set()

    async def _tend(self, connection: Connection) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow, connection)
            tasks.start_soon(self._relist_on_change, connection)
            tasks.start_soon(self._check, connection)
            await connection.closed.wait()
            tasks.cancel_scope.cancel()

    async def _follow(self, connection: Connection) -> None:
        for failures in count(1):
            if not connection.reports_changes:
                return
            try:
                await connection.follow()
            except Exception as error:  # no news is no reason to give up the connection
                log.debug("%s: listening for changes ended: %s", self._name, type(error).__name__)
            await anyio.sleep(self._terms.backoff.delay(failures, self._outside.dice))

    async def _relist_on_change(self, connection: Connection) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self._terms.connect_seconds):
                    await self._relist(connection)
            except Exception as error:  # the old list stands until the server gets its new one right
                self._error = str(self._masked(translate(error, self._name)))
            await anyio.sleep(self._terms.relist_seconds)  # however often it changes, this is how often we look

    async def _check(self, connection: Connection) -> None:
        while self._terms.health_seconds:
            await anyio.sleep(self._terms.health_seconds)
            if connection.is_busy:
                continue
            try:
                with anyio.fail_after(_CHECK_SECONDS):
                    await connection.check()
            except MCPError as error:
                if is_lost(error):
                    connection.closed.set()  # any other answer is a sign of life
            except TimeoutError:
                connection.closed.set()

    async def _relist(self, connection: Connection) -> None:
        self._era = connection.era
        tools: tuple[Tool, ...] = ()
        try:
            tools = await list_tools(connection.client, self._name, self._terms.only)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:  # a server may have no tools at all
                raise
        if tools != self._tools or not self._settled.is_set():
            self._set_tools(tools)
            self._outside.emit(ToolsListed(server=self._name, tools=len(tools)))
            remembered = Remembered(era=self._era, tools=tools)
            await anyio.to_thread.run_sync(self._outside.keep, remembered)

    def _set_tools(self, tools: tuple[Tool, ...]) -> None:
        self._tools = tools
        self._names = frozenset(tool.name for tool in tools)
        self._checks.know({tool.name: tool.output_schema for tool in tools if tool.output_schema is not None})

    def _on_change(self) -> None:
        self._changed.set()

    def _enter(self, state: State, *, error: str | None = None) -> None:
        self._state = state
        self._error = error if state != "connecting" else self._error
        self._outside.emit(ServerChanged(server=self._name, state=state, error=error))

    def _masked(self, error: Error) -> Error:
        text = self._outside.mask(str(error))
        return error if text == str(error) else type(error)(text)


class _SessionLostError(Exception):
    """The server does not know our session any more and did not take the call."""
