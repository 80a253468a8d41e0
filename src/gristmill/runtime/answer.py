"""Questions that code asks about tools are answered here, in the hall: ``from tool_discovery import search_tools``."""

from contextvars import ContextVar
from functools import cached_property
from typing import Any

from gristmill.catalog.found import DetailLevel
from gristmill.catalog.render import BUDGET_TOKENS
from gristmill.model import Handler, ToolCall, ToolResult
from gristmill.runtime.discover import Discovery, Language
from gristmill.runtime.learning import OUTSIDE, askers
from gristmill.upstream.inproc import Inproc

SERVER = "gristmill"
"""The reserved server: its keys never leave for an upstream."""
NOTHING = "# nothing fits; list_servers() and list_tools(server) show what there is"


_asking: ContextVar[str] = ContextVar("asking", default=OUTSIDE)
"""Who asks: the functions below are called with their arguments only."""


class AnswerDiscovery:
    """A layer that answers the keys of the reserved server and passes all others on."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer, or pass on.

        Raises:
            NotFound: a question about a tool or a server that does not exist; carries near names.
            ToolFailed: a question that makes no sense.
        """
        server, _, name = call.tool.partition(".")
        if server != SERVER:
            return await proceed(call)
        token = _asking.set(askers(call)[0])
        try:
            return await self._questions.call(name, call)
        finally:
            _asking.reset(token)

    @cached_property
    def _questions(self) -> Inproc:
        """The questions as functions: what code sends is checked against their signatures."""
        discovery = self._discovery

        async def search_tools(
            query: str,
            detail_level: DetailLevel = "full",
            limit: int = 5,
            server: str | None = None,
            budget_tokens: int = BUDGET_TOKENS,
        ) -> str:
            found = await discovery.search(
                query, detail_level=detail_level, limit=limit, server=server, budget_tokens=budget_tokens, who=_asking.get()
            )
            return found.text or NOTHING

        def list_servers() -> list[dict[str, Any]]:
            return [{"name": server.name, "tools": server.tools} for server in discovery.list_servers()]

        def list_tools(server: str) -> list[dict[str, Any]]:
            return [{"key": tool.key, "description": tool.description} for tool in discovery.list_tools(server)]

        async def describe(keys: str | list[str], language: Language = "python") -> str:
            return (await discovery.describe(keys, language=language)).text

        return Inproc(SERVER, (search_tools, list_servers, list_tools, describe), cheap=True)
