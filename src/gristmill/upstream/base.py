"""The interface of every tool server (``Upstream``), and ``Upstreams``, which routes a call to the server that its key names."""

import difflib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Literal, Protocol, runtime_checkable

import anyio
from msgspec import Struct

from gristmill.errors import UnknownTool, UpstreamError, UpstreamUnavailable
from gristmill.model import Json, Tool, ToolCall, ToolResult

State = Literal["idle", "connecting", "ready", "failed", "closed"]


class ServerStatus(Struct, frozen=True, kw_only=True):
    """The state of one server, as one row of a table. ``error`` is one line, without secrets."""

    name: str
    kind: str
    state: State = "idle"
    tools: int = 0
    era: str | None = None
    error: str | None = None
    confined: bool = False
    """Whether the server's program runs confined: with limits on the files and the network that it can reach."""


class InputRequest(Struct, frozen=True, kw_only=True):
    """A question of a server to the person who started a call. ``url`` replaces ``schema`` when the person shall visit a page."""

    server: str
    call: ToolCall | None
    message: str
    schema: Mapping[str, Json] | None = None
    url: str | None = None


class InputAnswer(Struct, frozen=True, kw_only=True):
    """The person's answer to an ``InputRequest``."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Json] | None = None


Ask = Callable[[InputRequest], Awaitable[InputAnswer]]


class Upstream(Protocol):
    """One tool server."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns the tools as last listed, perhaps by an earlier run of Gristmill."""
        ...

    @property
    def status(self) -> ServerStatus: ...

    @property
    def is_listed(self) -> bool:
        """Whether the server itself has listed its tools in this process; before, they are remembered from an earlier one."""
        ...

    async def run(self) -> None:
        """Owns the connection until cancelled. Everything is entered and left in this one task."""
        ...

    async def wait_until_settled(self) -> None:
        """Starts the first attempt to connect and list, if needed, and returns when it has succeeded or failed."""
        ...

    async def connect(self) -> None:
        """Returns when there is a connection over which the tools have been listed; connects if there is none.

        Raises:
            UpstreamUnavailable: the server cannot be reached or listed.
        """
        ...

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Calls ``tool``; connects first if there is no connection.

        Raises:
            UpstreamError: the server is unreachable, too slow, its answer is too large, or the tool failed.
        """
        ...


@runtime_checkable
class PrintingServer(Protocol):
    """A server whose program prints to stderr."""

    @property
    def last_output(self) -> tuple[str, ...]:
        """Returns the last lines that it printed, without secrets."""
        ...


class BrokenServer:
    """A server whose configuration cannot be used: it has a status that says why, no tools, and refuses every call."""

    def __init__(self, name: str, kind: str, error: str) -> None:
        self.name = name
        self.tools: tuple[Tool, ...] = ()
        self.status = ServerStatus(name=name, kind=kind, state="failed", error=error)
        self.is_listed = False

    async def run(self) -> None:
        """Does nothing: there is no connection."""

    async def wait_until_settled(self) -> None:
        """Returns at once: the server has failed and stays failed."""

    async def connect(self) -> None:
        """Refuses, and says why the server cannot be used.

        Raises:
            UpstreamUnavailable: always.
        """
        raise UpstreamUnavailable(f"{self.name} cannot be used: {self.status.error}")

    async def call(self, tool: str, call: ToolCall) -> ToolResult:  # noqa: ARG002  # the signature of every upstream
        """Refuses the call and says why the server cannot be used.

        Raises:
            UpstreamUnavailable: always.
        """
        raise UpstreamUnavailable(f"{self.name}.{tool} cannot be called: {self.status.error}")


class Upstreams:
    """All servers as one ``Handler``: the part of the key before the dot (``server.tool``) names the server."""

    def __init__(self, upstreams: Iterable[Upstream]) -> None:
        self._by_name = {upstream.name: upstream for upstream in upstreams}
        self._under_way: Counter[Upstream] = Counter()
        self._idle: dict[Upstream, anyio.Event] = {}

    def add(self, upstream: Upstream) -> None:
        """Adds a server that needs no task of its own; one of the same name is replaced."""
        self._by_name[upstream.name] = upstream

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Passes ``call`` to the server that its key names.

        Raises:
            UnknownTool: there is no such server, or the server has no such tool.
            UpstreamError: see ``Upstream.call``.
        """
        server, _, tool = call.tool.partition(".")
        upstream = self._by_name.get(server)
        if upstream is None:
            raise UnknownTool(f"there is no server {server!r}", near=difflib.get_close_matches(server, self._by_name, n=3))
        if call.positional:
            raise UpstreamError(f"{call.tool}: arguments without a name must be named before the call leaves")
        self._under_way[upstream] += 1
        try:
            return await upstream.call(tool, call)
        finally:
            self._under_way[upstream] -= 1
            if not self._under_way[upstream]:
                del self._under_way[upstream]
                if self._idle and upstream in self._idle:
                    self._idle.pop(upstream).set()

    def replace(self, upstreams: Iterable[Upstream]) -> None:
        """Offers ``upstreams`` from now on; calls that are under way go on with the server that they began with."""
        self._by_name = {upstream.name: upstream for upstream in upstreams}

    async def wait_until_idle(self, upstream: Upstream) -> None:
        """Returns when no call to ``upstream`` is under way, also if it is not offered any more."""
        if upstream in self._under_way:
            await self._idle.setdefault(upstream, anyio.Event()).wait()

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Upstream:
        return self._by_name[name]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns all tools of all servers, in the order of the configuration and of each server's listing."""
        return tuple(tool for upstream in self._by_name.values() for tool in upstream.tools)

    @property
    def status(self) -> tuple[ServerStatus, ...]:
        """Returns one row per server."""
        return tuple(upstream.status for upstream in self._by_name.values())


def list_reachable(upstreams: Upstreams) -> dict[str, bool]:
    """Returns for each server whether it can be reached, as far as is known; one that tries again after a failure cannot."""
    return {
        each.name: each.state != "failed" and not (each.state == "connecting" and each.error is not None)
        for each in upstreams.status
        if each.state != "closed"
    }


def check_tool_listed(tool: str, server: str, tools: Iterable[Tool]) -> None:
    """Checks that ``tool`` is among the listed ``tools`` of ``server``.

    Raises:
        UnknownTool: it is not listed; the error carries the names that are close to it.
    """
    names = [known.name for known in tools]
    if tool not in names:
        raise UnknownTool(f"{server} has no tool {tool!r}", near=difflib.get_close_matches(tool, names, n=3))
