"""A server that is only a name and its remembered tools until somebody needs it: starting costs nothing.

The MCP SDK takes half a second to import. A search that is answered from what is remembered never pays for it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from gristmill.errors import ConfigError, UpstreamUnavailable
from gristmill.model import Tool, ToolCall, ToolResult
from gristmill.upstream.base import Broken, ServerStatus, Upstream
from gristmill.upstream.remembered_tools import Remembered
from gristmill.upstream.short_text import one_line

Make = Callable[[], Awaitable[Upstream]]
"""Makes the server; may import what takes long."""


class Lazy:
    """An ``Upstream`` that becomes another one at its first use."""

    def __init__(self, name: str, kind: str, known: Remembered, make: Make, *, confined: bool = False) -> None:
        """``confined`` says that it is never started without walls."""
        self._name, self._kind, self._known, self._make = name, kind, known, make
        self._confined = confined
        self._inner: Upstream | None = None
        self._wanted = anyio.Event()
        self._made = anyio.Event()

    @property
    def name(self) -> str:
        """As in the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As last listed, perhaps in an earlier run."""
        return self._known.tools if self._inner is None else self._inner.tools

    @property
    def status(self) -> ServerStatus:
        """One row of a table."""
        if self._inner is not None:
            return replace(self._inner.status, confined=self._confined)
        tools, era = len(self._known.tools), self._known.era
        return ServerStatus(name=self._name, kind=self._kind, tools=tools, era=era, confined=self._confined)

    async def run(self) -> None:
        """Wait until somebody needs it, then run what it became."""
        try:
            await self._wanted.wait()
            try:
                self._inner = await self._make()
            except ConfigError as error:  # one server that cannot be used is no reason to do without the others
                self._inner = Broken(self._name, self._kind, one_line(str(error)))
        finally:
            self._made.set()
        await self._inner.run()

    async def settled(self) -> None:
        """Return once a first attempt to connect and list has ended; starts it."""
        await (await self._awake()).settled()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Call ``tool``; the first call makes the server and connects."""
        inner = self._inner or await self._awake()
        return await inner.call(tool, call)

    async def _awake(self) -> Upstream:
        self._wanted.set()
        await self._made.wait()
        if self._inner is None:
            raise UpstreamUnavailable(f"{self._name} is closed")
        return self._inner
