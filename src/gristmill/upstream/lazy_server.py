"""A server that consists of its name and remembered tools until its first use, so that starting Gristmill is cheap.

The MCP SDK takes half a second to import. A search that is answered from remembered tools never imports it.
"""

from collections.abc import Awaitable, Callable

import anyio
from msgspec.structs import replace

from gristmill.errors import ConfigError, UpstreamUnavailable
from gristmill.model import Tool, ToolCall, ToolResult
from gristmill.upstream.base import BrokenServer, PrintingServer, ServerStatus, Upstream
from gristmill.upstream.listing.remembered_tools import RememberedTools
from gristmill.upstream.short_text import shorten_to_line

MakeServer = Callable[[], Awaitable[Upstream]]
"""Builds the server; may import modules that take long to load."""


class LazyServer:
    """An ``Upstream`` that builds the real server at its first use and passes everything on to it."""

    def __init__(self, name: str, kind: str, known: RememberedTools, make: MakeServer, *, confined: bool = False) -> None:
        """Stores how to build the server; ``confined`` says that its program never starts without confinement."""
        self._name, self._kind, self._known, self._make = name, kind, known, make
        self._confined = confined
        self._inner: Upstream | None = None
        self._wanted = anyio.Event()
        self._made = anyio.Event()

    @property
    def name(self) -> str:
        """Returns the name from the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns the tools as last listed, perhaps by an earlier run of Gristmill."""
        return self._known.tools if self._inner is None else self._inner.tools

    @property
    def status(self) -> ServerStatus:
        """Returns the state as one row of a table."""
        if self._inner is not None:
            return replace(self._inner.status, confined=self._confined)
        tools, era = len(self._known.tools), self._known.era
        return ServerStatus(name=self._name, kind=self._kind, tools=tools, era=era, confined=self._confined)

    @property
    def is_listed(self) -> bool:
        """Whether the server itself has listed its tools in this process."""
        return self._inner is not None and self._inner.is_listed

    @property
    def last_output(self) -> tuple[str, ...]:
        """Returns the last lines that the server's program wrote to stderr, without secrets."""
        return self._inner.last_output if isinstance(self._inner, PrintingServer) else ()

    async def run(self) -> None:
        """Waits for the first use, builds the server and runs it."""
        try:
            await self._wanted.wait()
            try:
                self._inner = await self._make()
            except ConfigError as error:  # one unusable server must not stop the others
                self._inner = BrokenServer(self._name, self._kind, shorten_to_line(str(error)))
        finally:
            self._made.set()
        await self._inner.run()

    async def wait_until_settled(self) -> None:
        """Builds the server if needed, and returns when its first attempt to connect and list has ended, or it is closed."""
        try:
            inner = await self._build_inner()
        except UpstreamUnavailable:
            return  # it was removed from the configuration before it was built
        await inner.wait_until_settled()

    async def connect(self) -> None:
        """Builds the server if needed, and returns when it is connected and listed."""
        await (self._inner or await self._build_inner()).connect()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Calls ``tool``; the first call builds the server and connects."""
        inner = self._inner or await self._build_inner()
        return await inner.call(tool, call)

    async def _build_inner(self) -> Upstream:
        """Asks ``run`` to build the server and waits for it."""
        self._wanted.set()
        await self._made.wait()
        if self._inner is None:
            raise UpstreamUnavailable(f"{self._name} is closed")
        return self._inner
