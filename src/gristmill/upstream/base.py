"""What an upstream is, and the routing of a call to the one it names. Every kind of server stands behind this face."""

import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Literal, Protocol

from gristmill.errors import UnknownTool, UpstreamError, UpstreamUnavailable
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.values import dataclass

State = Literal["idle", "connecting", "ready", "failed", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """How a server is, in one row of a table. ``error`` is one line, without secrets."""

    name: str
    kind: str
    state: State = "idle"
    tools: int = 0
    era: str | None = None
    error: str | None = None
    confined: bool = False
    """Whether its program runs within walls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """A server asks the person behind a call; ``url`` instead of ``schema`` when it wants them to visit a page."""

    server: str
    call: ToolCall | None
    message: str
    schema: Mapping[str, Json] | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAnswer:
    """What the person said."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Json] | None = None


Ask = Callable[[InputRequest], Awaitable[InputAnswer]]


class Upstream(Protocol):
    """One tool server."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as last listed, perhaps in an earlier run."""
        ...

    @property
    def status(self) -> ServerStatus: ...

    async def run(self) -> None:
        """Own the connection until cancelled: everything is entered and left in this one task."""
        ...

    async def settled(self) -> None:
        """Return once a first attempt to connect and list has ended, well or badly; starts it if need be."""
        ...

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Call ``tool``; connects first if need be.

        Raises:
            UpstreamError: unreachable, too late, too large, or the tool failed.
        """
        ...


class Broken:
    """A server whose configuration cannot be used: it has a status and nothing else."""

    def __init__(self, name: str, kind: str, error: str) -> None:
        self.name = name
        self.tools: tuple[Tool, ...] = ()
        self.status = ServerStatus(name=name, kind=kind, state="failed", error=error)

    async def run(self) -> None:
        """There is nothing to run."""

    async def settled(self) -> None:
        """It is, for the worse."""

    async def call(self, tool: str, call: ToolCall) -> ToolResult:  # noqa: ARG002  # the face of every upstream
        """Say why not."""
        raise UpstreamUnavailable(f"{self.name}.{tool} cannot be called: {self.status.error}")


class Upstreams:
    """All servers as one ``Handler``: the key ``server.tool`` says where a call goes."""

    def __init__(self, upstreams: Iterable[Upstream]) -> None:
        self._by_name = {upstream.name: upstream for upstream in upstreams}

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Route ``call``.

        Raises:
            UnknownTool: no such server, or it offers no such tool.
            UpstreamError: see ``Upstream.call``.
        """
        server, _, tool = call.tool.partition(".")
        upstream = self._by_name.get(server)
        if upstream is None:
            raise UnknownTool(f"there is no server {server!r}", near=difflib.get_close_matches(server, self._by_name, n=3))
        if call.positional:
            raise UpstreamError(f"{call.tool}: arguments without a name must be named before the call leaves")
        return await upstream.call(tool, call)

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Upstream:
        return self._by_name[name]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool of every server, in the order of the configuration and of the listings."""
        return tuple(tool for upstream in self._by_name.values() for tool in upstream.tools)

    @property
    def status(self) -> tuple[ServerStatus, ...]:
        """One row per server."""
        return tuple(upstream.status for upstream in self._by_name.values())


def check_known(tool: str, server: str, tools: Iterable[Tool]) -> None:
    """Refuse a name that is not listed, and say which ones are near.

    Raises:
        UnknownTool: it is not.
    """
    names = [known.name for known in tools]
    if tool not in names:
        raise UnknownTool(f"{server} has no tool {tool!r}", near=difflib.get_close_matches(tool, names, n=3))
