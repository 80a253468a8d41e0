"""Questions that code asks about tools are answered here, in the hall: ``from tool_discovery import search_tools``."""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel
from gristmill.model import Handler, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.learn_from_calls import askers
from gristmill.runtime.tools.discovery import Discovery, Found, Language
from gristmill.upstream.python_functions import Inproc

SkillsOf = Callable[[ToolCall], Awaitable[Sequence[Tool]]]
"""The skills that whoever makes a call can see, as tools."""
Searched = Callable[[ToolCall, Found], Awaitable[None]]
SERVER = "gristmill"
"""The reserved server: its keys never leave for an upstream."""
NOTHING = "# nothing fits; list_servers() and list_tools(server) show what there is"


class AnswerDiscovery:
    """A layer that answers the keys of the reserved server and passes all others on."""

    def __init__(self, discovery: Discovery, skills_of: SkillsOf | None = None, searched: Searched | None = None) -> None:
        """``searched`` hears what code searched for."""
        self._discovery, self._skills_of, self._searched = discovery, skills_of, searched
        self._asking: ContextVar[ToolCall] = ContextVar("gristmill_discovery_call")

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answer, or pass on.

        Raises:
            NotFound: a question about a tool or a server that does not exist; carries near names.
            ToolFailed: a question that makes no sense.
        """
        server, _, name = call.tool.partition(".")
        if server != SERVER:
            return await proceed(call)
        token = self._asking.set(call)
        try:
            return await self._questions.call(name, call)
        finally:
            self._asking.reset(token)

    async def _skills(self) -> Sequence[Tool]:
        return await self._skills_of(self._asking.get()) if self._skills_of else ()

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
                query, detail_level=detail_level, limit=limit, server=server, budget_tokens=budget_tokens,
                skills=await self._skills(), who=askers(self._asking.get())[0],
            )  # fmt: skip
            if self._searched is not None:
                await self._searched(self._asking.get(), found)
            return found.text or NOTHING

        def list_servers() -> list[dict[str, Any]]:
            return [{"name": server.name, "tools": server.tools} for server in discovery.list_servers()]

        def list_tools(server: str) -> list[dict[str, Any]]:
            return [{"key": tool.key, "description": tool.description} for tool in discovery.list_tools(server)]

        async def describe(keys: str | list[str], language: Language = "python") -> str:
            return (await discovery.describe(keys, language=language, skills=await self._skills())).text

        return Inproc(SERVER, (search_tools, list_servers, list_tools, describe), cheap=True)
