"""Answers questions that code asks about tools, in the hall: ``from tool_discovery import search_tools``."""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel
from gristmill.model import Handler, Language, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.learn_from_calls import list_askers
from gristmill.runtime.tools.discovery import Discovery, SearchAnswer
from gristmill.upstream.python_functions import PythonFunctions

FindSkills = Callable[[ToolCall], Awaitable[Sequence[Tool]]]
"""Returns the skills that the maker of a call can see, as tools."""
OnSearch = Callable[[ToolCall, SearchAnswer], Awaitable[None]]
"""Receives what code searched for and what was found."""
RESERVED_SERVER = "gristmill"
"""The reserved server; calls to it are answered here and never sent to an upstream."""
DISCOVERY_NAMES = ("search_tools", "list_servers", "list_tools", "describe")
NOTHING_FOUND = "# nothing fits; list_servers() and list_tools(server) show what there is"


class AnswerDiscovery:
    """A layer that answers the keys of the reserved server and passes all others on."""

    def __init__(self, discovery: Discovery, skills_of: FindSkills | None = None, searched: OnSearch | None = None) -> None:
        """``searched`` receives every search that code makes."""
        self._discovery, self._skills_of, self._on_search = discovery, skills_of, searched
        self._current_call: ContextVar[ToolCall] = ContextVar("gristmill_discovery_call")

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Answers the call, or passes it on.

        Raises:
            NotFound: the question is about a tool or a server that does not exist; the error carries near names.
            ToolFailed: the question does not fit the function's signature.
        """
        server, _, name = call.tool.partition(".")
        if server != RESERVED_SERVER:
            return await proceed(call)
        token = self._current_call.set(call)
        try:
            return await self._functions.call(name, call)
        finally:
            self._current_call.reset(token)

    async def _find_skills(self) -> Sequence[Tool]:
        return await self._skills_of(self._current_call.get()) if self._skills_of else ()

    @cached_property
    def _functions(self) -> PythonFunctions:
        """Returns the questions as Python functions: what code sends is checked against their signatures."""
        discovery = self._discovery

        async def search_tools(
            query: str,
            detail_level: DetailLevel = "full",
            limit: int = 5,
            server: str | None = None,
            budget_tokens: int = BUDGET_TOKENS,
        ) -> dict[str, Any]:
            found = await discovery.search(
                query, detail_level=detail_level, limit=limit, server=server, budget_tokens=budget_tokens,
                skills=await self._find_skills(), who=list_askers(self._current_call.get())[0],
            )  # fmt: skip
            if self._on_search is not None:
                await self._on_search(self._current_call.get(), found)
            return {"tools": list(found.tools), "text": found.text or NOTHING_FOUND}

        def list_servers() -> list[dict[str, Any]]:
            return [{"name": server.name, "tools": server.tools} for server in discovery.list_servers()]

        def list_tools(server: str) -> list[dict[str, Any]]:
            return [{"key": tool.key, "description": tool.description} for tool in discovery.list_tools(server)]

        async def describe(keys: str | list[str], language: Language = "python") -> str:
            return (await discovery.describe(keys, language=language, skills=await self._find_skills())).text

        return PythonFunctions(RESERVED_SERVER, (search_tools, list_servers, list_tools, describe), cheap=True)
