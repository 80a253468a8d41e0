"""Finding tools: search, list, describe, and how the servers are. Answers from the snapshot; no server is asked."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import anyio

from gristmill.catalog.catalog import Catalog, told
from gristmill.catalog.modules.tool_outline import python_text, typescript_text
from gristmill.catalog.pins.pinned_definitions import Change
from gristmill.catalog.pins.scan_definitions import Finding
from gristmill.catalog.search.render_hits import SKILLS, bytes_per_three, one_line, render
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, ServerSummary
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.model import Tool
from gristmill.near_names import near_names
from gristmill.runtime.calls.learn_from_calls import OUTSIDE
from gristmill.runtime.tools.search_answers import MOST_HITS, MOST_KEYS, MOST_TOKENS, Described, Found, Language, writing_of
from gristmill.runtime.tools.search_skills import among_skills, by_words
from gristmill.runtime.tools.tool_library import Library
from gristmill.shaping.token_counter import Count, token_counter
from gristmill.upstream.base import State, Upstreams
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """How a server is; ``tokens`` is what a model would pay to have all of its definitions in context."""

    name: str
    kind: str
    state: State
    tools: int
    tokens: int
    era: str | None = None
    error: str | None = None
    changed: int = 0
    """Tools whose definition is not the one that was accepted."""
    flagged: int = 0
    """Tools whose definition is suspicious."""
    confined: bool = False
    """Whether its program runs within walls."""


class Discovery:
    """Every question about what tools there are."""

    def __init__(self, upstreams: Upstreams, library: Library, *, count: Count | None = None) -> None:
        """``count`` measures what an answer costs; by default it counts tokens, by a vocabulary that takes 0.1 s to load."""
        self._upstreams, self._library, self._count = upstreams, library, count
        self._tokens: tuple[Catalog, Mapping[str, int]] | None = None

    async def search(
        self,
        query: str,
        *,
        detail_level: DetailLevel = "full",
        limit: int = 5,
        server: str | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        skills: Sequence[Tool] = (),
        who: str = OUTSIDE,
    ) -> Found:
        """The best tools for ``query``, best first, and as text of at most ``budget_tokens``; ``skills`` compete with them.

        What ``who`` calls next rises for similar questions, if that is learned.

        Raises:
            NotFound: no such server; carries near names.
        """
        if server is not None and not (skills and server == SKILLS):
            server = self._server(server)
        if not len(self._library.visible) and not skills:
            return Found(query=query, hits=(), text="")
        searchable = await self._library.searchable()
        budget = min(budget_tokens, MOST_TOKENS)

        learned, usage = self._library.learned, self._library.usage

        def work() -> Found:
            place = among_skills(searchable, query, skills, server) if skills else searchable
            habits = usage.habits if usage else None
            hits = place.index.search(query, min(limit, MOST_HITS), server=server, habits=habits)
            if not hits and server in (None, SKILLS):
                hits = by_words(query, skills, min(limit, MOST_HITS))
            writing = writing_of(searchable.catalog, searchable.marks, learned, self._count or _counter(), place.catalog)
            text = render(hits, detail_level=detail_level, budget_tokens=budget, writing=writing)
            return Found(query=query, hits=tuple(hits), text=text)

        found = await asyncio.to_thread(work)
        if usage is not None:
            usage.asked(who, query, [hit.tool.key for hit in found.hits])
        return found

    def list_servers(self) -> tuple[ServerSummary, ...]:
        """Every server and how many tools it has."""
        catalog = self._library.visible
        return tuple(ServerSummary(name=each.name, tools=len(catalog.of_server(each.name))) for each in self._upstreams)

    def list_tools(self, server: str) -> tuple[Tool, ...]:
        """The tools of one server.

        Raises:
            NotFound: no such server; carries near names.
        """
        return self._library.visible.of_server(self._server(server))

    def modules(self) -> dict[str, tuple[str, ...]]:
        """What code can import: the module of each server whose tools are known (``servers.<module>``), and its functions."""
        catalog = self._library.catalog
        return {
            module: tuple(catalog.functions[tool.key] for tool in catalog.of_server(server))
            for server, module in catalog.modules.items()
        }

    async def describe(
        self, keys: str | Sequence[str], *, language: Language = "python", skills: Sequence[Tool] = ()
    ) -> Described:
        """The tools of these keys (``server.tool``), with everything their servers say about them.

        Raises:
            UnknownTool: a key that nobody has; carries near names.
        """
        asked = [keys] if isinstance(keys, str) else list(keys)[:MOST_KEYS]
        known = Catalog.of(skills)
        tools = tuple(known.get(key) if key in known else self._library.shown(key) for key in asked)
        catalog, learned, warnings = self._library.visible, self._library.learned, await self._warnings()
        write, comment = (typescript_text, "//") if language == "typescript" else (python_text, "#")

        def text(tool: Tool) -> str:
            warning = "".join(f"{comment} warning: {line}\n" for line in warnings.get(tool.key, ()))
            return warning + write(known if tool.server == SKILLS else catalog, tool, learned.get(tool.key)).rstrip()

        texts = await asyncio.to_thread(lambda: [text(tool) for tool in tools])
        return Described(tools=tools, text="\n\n\n".join(texts))

    async def changes(self) -> tuple[Change, ...]:
        """The tools whose definition is not the one that was accepted, and what differs."""
        return await self._library.changes()

    async def findings(self) -> tuple[Finding, ...]:
        """What is suspicious in the definitions: hidden characters, talk of other servers' tools."""
        return await self._library.findings()

    async def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """Accept the definitions that have changed: all, those of one server, or one tool's; returns the keys.

        Raises:
            NotFound: no such server or tool; carries near names.
        """
        server = self._server(server) if server is not None else None
        key = self._library.find(tool).key if tool is not None else None
        wanted = [
            change
            for change in await self._library.changes()
            if (server is None or change.key.startswith(f"{server}.")) and key in (None, change.key)
        ]
        return await self._library.accept({change.key: change.seen for change in wanted}) if wanted else ()

    async def _warnings(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for finding in await self._library.findings():
            words = f"{finding.rule.replace('-', ' ')} in {finding.place}: {finding.shown}"
            found.setdefault(finding.key, []).append(one_line(words))
        for change in await self._library.changes():
            places = ", ".join(edit.place for edit in change.edits)
            found.setdefault(change.key, []).append(one_line(f"the definition has changed since it was accepted ({places})"))
        return found

    async def servers(self) -> tuple[ServerRow, ...]:
        """One row per server, in the order of the configuration."""
        tokens = Counter[str]()
        for key, count in (await self.definition_tokens()).items():
            tokens[key.partition(".")[0]] += count
        changed = Counter(change.key.partition(".")[0] for change in await self._library.changes())
        flagged = Counter(key.partition(".")[0] for key in {finding.key for finding in await self._library.findings()})
        return tuple(
            ServerRow(**asdict(status), tokens=tokens[status.name], changed=changed[status.name], flagged=flagged[status.name])
            for status in self._upstreams.status
        )

    async def settled(self, seconds: float, *, again: bool = False) -> None:
        """Wait, no longer than ``seconds``, for the first listing of servers whose tools are not known yet.

        ``again`` also connects to those whose tools are remembered from an earlier run.
        """
        waited_for = [upstream for upstream in self._upstreams if again or not upstream.tools]
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for upstream in waited_for:
                    tasks.start_soon(upstream.settled)

    async def keep(self, config: Config, key: str) -> None:
        """Keep what a search needs for the next start with this configuration; see `last`."""
        from gristmill.runtime.last_keep import keep_last  # only a search by hand keeps anything

        await keep_last(config, key, self._upstreams, self._library)

    def _server(self, name: str) -> str:
        """The server's own name; the module that code imports it as is understood too."""
        known = [upstream.name for upstream in self._upstreams]
        if name in known:
            return name
        spelled = {module: server for server, module in self._library.catalog.modules.items()}
        if name not in spelled:
            near = near_names(name, known)
            hint = "" if near else f"; there are {', '.join(known[:20])}" if known else "; none is configured"
            raise NotFound(f"there is no server {name[:80]!r}{hint}", near=near)
        return spelled[name]

    async def definition_tokens(self) -> Mapping[str, int]:
        """What a model would pay to have each tool's definition in context, by its key."""
        catalog = self._library.catalog
        if self._tokens is None or self._tokens[0] is not catalog:
            self._tokens = catalog, await asyncio.to_thread(_count_definitions, catalog)
        return self._tokens[1]


def _count_definitions(catalog: Catalog) -> dict[str, int]:
    count = _counter()
    return {tool.key: count(told(tool)) for tool in catalog}


def _counter() -> Count:
    return token_counter() or bytes_per_three
