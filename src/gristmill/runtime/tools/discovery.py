"""Finds tools: search, list, describe, and the status of servers. Answers come from the snapshot; no server is asked."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import anyio
from msgspec.structs import asdict, replace

from gristmill.catalog.answers.first_sentences import take_first_sentence
from gristmill.catalog.answers.fold_duplicates import MOST_DUPLICATES, FoldedHits, fold_duplicates
from gristmill.catalog.answers.render_hits import SKILLS, estimate_tokens
from gristmill.catalog.catalog import Catalog, render_for_model
from gristmill.catalog.modules.tool_outline import render_python_text, render_typescript_text
from gristmill.catalog.pins.pinned_definitions import DefinitionChange
from gristmill.catalog.pins.scan_definitions import DefinitionFinding
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, ServerSummary
from gristmill.config.sections.servers_section import RESERVED_NAMES, SERVER_NAME_PATTERN
from gristmill.errors import ConfigError, NotFound
from gristmill.ledger.tokens.spent_records import SpentCall
from gristmill.loose_names import fold_name
from gristmill.model import Language, Tool
from gristmill.near_names import find_near_names
from gristmill.runtime.calls.learn_from_calls import OUTSIDE
from gristmill.runtime.tools.choose_mode import ChosenMode, choose_mode
from gristmill.runtime.tools.search_answers import (
    MOST_HITS,
    MOST_KEYS,
    MOST_TOKENS,
    QUERY_CHARACTERS,
    AnswerSources,
    DescribedTools,
    SearchAnswer,
    WantedAnswer,
    build_answer_writing,
    list_fields,
    write_answer,
)
from gristmill.runtime.tools.search_skills import index_with_skills, list_hits, match_by_words
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.shaping.token_counter import Count, load_token_counter
from gristmill.upstream.base import PrintingServer, State, Upstreams
from gristmill.upstream.described_functions import DescribedFunction, DescribedFunctions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """The state of one tool server."""

    name: str
    kind: str
    state: State
    tools: int
    tokens: int
    """How many tokens its definitions would take in a model's context."""
    era: str | None = None
    """The MCP revision that it speaks: `modern` (2026) or `legacy` (older); null if unknown."""
    error: str | None = None
    changed: int = 0
    """How many of its tools have a definition that differs from the accepted one."""
    flagged: int = 0
    """How many of its tools have a suspicious definition."""
    confined: bool = False
    """Whether its program runs confined, with limited access to this machine."""

    __pydantic_config__ = {"use_attribute_docstrings": True}  # noqa: RUF012  # the sentences above go into the OpenAPI document


FITTING_SHARE = 0.4
"""A tool fits a question if its score is at least this share of the best tool's."""


class Discovery:
    """Answers every question about which tools there are."""

    def __init__(self, upstreams: Upstreams, library: ToolLibrary, *, count: Count | None = None) -> None:
        """``count`` measures what an answer costs; by default it counts tokens, with a vocabulary that takes 0.1 s to load."""
        self._upstreams, self._library, self._count = upstreams, library, count
        self._tokens: tuple[Catalog, Mapping[str, int]] | None = None

    def add_functions(self, server: str, functions: Sequence[DescribedFunction]) -> None:
        """Adds described functions as tools of ``server``.

        Raises:
            ConfigError: the name is that of a configured server, or reserved.
        """
        if server in RESERVED_NAMES or not SERVER_NAME_PATTERN.fullmatch(server):
            raise ConfigError(f"{server[:80]!r} cannot name a server: choose another name, of letters, digits and _")
        if server not in self._upstreams:
            self._upstreams.add(DescribedFunctions(server, functions))
        elif isinstance(found := self._upstreams[server], DescribedFunctions):
            found.extend(functions)
        else:
            raise ConfigError(f"there is a server {server!r} already: choose another name for these functions")
        self._library.refresh()

    async def choose_mode(self, question: str, calls: Sequence[SpentCall]) -> ChosenMode:
        """Chooses between a program and direct calls for ``question``, from the ``calls`` on record."""
        # An asker of its own: calls that follow are not learned as answers to this search.
        found = await self.search(question, detail_level="name_only", who="choose_mode")
        best = max((hit.score for hit in found.hits), default=0.0)
        fitting = [hit.tool.key for place, hit in enumerate(found.hits) if place == 0 or hit.score > FITTING_SHARE * best]
        return choose_mode(fitting, await self.definition_tokens(), calls)

    async def search(
        self,
        query: str,
        *,
        detail_level: DetailLevel | None = None,
        limit: int = 5,
        server: str | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        skills: Sequence[Tool] = (),
        who: str = OUTSIDE,
        shown: Collection[str] = (),
    ) -> SearchAnswer:
        """Returns the best tools for ``query``, best first, and text of at most ``budget_tokens``; ``skills`` compete with tools.

        An empty query lists the tools in their order.
        Without a ``detail_level`` the text has the first tools in full and the others as signatures, and only names those whose
        keys are in ``shown``.

        Tools that ``who`` calls next rank higher for similar questions, if learning from use is on.

        Raises:
            NotFound: there is no such server; the error carries near names.
        """
        query = query[:QUERY_CHARACTERS]
        if server is not None and not (skills and server == SKILLS):
            server = self._resolve_server(server)
        if not len(self._library.visible) and not skills:
            return SearchAnswer(query=query, hits=(), text="")
        searchable = await self._library.load_searchable()
        budget = min(budget_tokens, MOST_TOKENS)

        learned, usage = self._library.learned, self._library.usage

        def search_and_render() -> SearchAnswer:
            place = index_with_skills(searchable, query, skills, server) if skills else searchable
            habits = usage.habits if usage else None
            most = min(limit, MOST_HITS)
            if not query.strip():
                hits = list_hits([*searchable.catalog, *skills], server, most)
            else:
                hits = place.index.search(query, most + MOST_DUPLICATES, server=server, habits=habits)
            if not hits and server in (None, SKILLS):
                hits = match_by_words(query, skills, most)
            # Duplicates are folded in the text alone: a program that reads the hits may want each of them.
            folded = fold_duplicates(hits, most) if detail_level is None else FoldedHits(hits=tuple(hits[:most]))
            sources = AnswerSources(
                catalog=searchable.catalog,
                count=self._count or _load_counter(),
                marks=searchable.marks,
                learned=learned,
                with_skills=place.catalog,
            )
            wanted = WantedAnswer(detail_level=detail_level, budget_tokens=budget, folded=folded, shown=frozenset(shown))
            answer = write_answer(query, folded.hits, sources, wanted)
            hits = hits[:most]
            signature = build_answer_writing(sources, ()).signature
            return replace(answer, hits=tuple(hits), tools=list_fields(hits, detail_level or "full", signature))

        found = await asyncio.to_thread(search_and_render)
        if usage is not None:
            usage.note_search(who, query, [hit.tool.key for hit in found.hits])
        return found

    def list_servers(self) -> tuple[ServerSummary, ...]:
        """Returns every server and how many tools it has."""
        catalog = self._library.visible
        return tuple(ServerSummary(name=each.name, tools=len(catalog.tools_of_server(each.name))) for each in self._upstreams)

    def list_tools(self, server: str) -> tuple[Tool, ...]:
        """Returns the tools of one server.

        Raises:
            NotFound: there is no such server; the error carries near names.
        """
        return self._library.visible.tools_of_server(self._resolve_server(server))

    def modules(self) -> dict[str, tuple[str, ...]]:
        """Returns what code can import: the module of each server with known tools (``servers.<module>``), and its functions."""
        catalog = self._library.catalog
        return {
            module: tuple(catalog.functions[tool.key] for tool in catalog.tools_of_server(server))
            for server, module in catalog.modules.items()
        }

    async def describe(
        self, keys: str | Sequence[str], *, language: Language = "python", skills: Sequence[Tool] = ()
    ) -> DescribedTools:
        """Returns the tools with these keys (``server.tool``), with everything their servers say about them.

        Raises:
            UnknownTool: no server has a tool with this key; the error carries near names.
        """
        asked = [keys] if isinstance(keys, str) else list(keys)[:MOST_KEYS]
        known = Catalog.from_tools(skills)
        tools = tuple(known.get(key) if key in known else self._library.find_visible(key) for key in asked)
        catalog, learned, warnings = self._library.visible, self._library.learned, await self._collect_warnings()
        write, comment = (render_typescript_text, "//") if language == "typescript" else (render_python_text, "#")

        def write_text(tool: Tool) -> str:
            warning = "".join(f"{comment} warning: {line}\n" for line in warnings.get(tool.key, ()))
            return warning + write(known if tool.server == SKILLS else catalog, tool, learned.get(tool.key)).rstrip()

        texts = await asyncio.to_thread(lambda: [write_text(tool) for tool in tools])
        return DescribedTools(tools=tools, text="\n\n\n".join(texts))

    async def changes(self) -> tuple[DefinitionChange, ...]:
        """Returns the tools whose definition is not the accepted one, and what differs."""
        return await self._library.changes()

    async def findings(self) -> tuple[DefinitionFinding, ...]:
        """Returns what is suspicious in the definitions: hidden characters, mentions of other servers' tools."""
        return await self._library.findings()

    async def accept(self, *, server: str | None = None, tool: str | None = None) -> tuple[str, ...]:
        """Accepts the definitions that have changed: all, those of one server, or one tool's; returns the keys.

        Raises:
            NotFound: there is no such server or tool; the error carries near names.
        """
        server = self._resolve_server(server) if server is not None else None
        key = self._library.find(tool).key if tool is not None else None
        wanted = [
            change
            for change in await self._library.changes()
            if (server is None or change.key.startswith(f"{server}.")) and key in (None, change.key)
        ]
        return await self._library.accept({change.key: change.seen for change in wanted}) if wanted else ()

    async def _collect_warnings(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for finding in await self._library.findings():
            words = f"{finding.rule.replace('-', ' ')} in {finding.place}: {finding.shown}"
            found.setdefault(finding.key, []).append(take_first_sentence(words))
        for change in await self._library.changes():
            places = ", ".join(edit.place for edit in change.edits)
            found.setdefault(change.key, []).append(
                take_first_sentence(f"the definition has changed since it was accepted ({places})")
            )
        return found

    async def servers(self) -> tuple[ServerRow, ...]:
        """Returns one row per server, in the order of the configuration."""
        tokens = Counter[str]()
        for key, count in (await self.definition_tokens()).items():
            tokens[key.partition(".")[0]] += count
        changed = Counter(change.key.partition(".")[0] for change in await self._library.changes())
        flagged = Counter(key.partition(".")[0] for key in {finding.key for finding in await self._library.findings()})
        return tuple(
            ServerRow(**asdict(status), tokens=tokens[status.name], changed=changed[status.name], flagged=flagged[status.name])
            for status in self._upstreams.status
        )

    def last_output(self, server: str) -> tuple[str, ...]:
        """Returns the last lines that the program of ``server`` wrote to stderr; none for servers that are no programs.

        Raises:
            NotFound: there is no such server; the error carries near names.
        """
        upstream = self._upstreams[self._resolve_server(server)]
        return upstream.last_output if isinstance(upstream, PrintingServer) else ()

    async def wait_until_listed(self, seconds: float, *, again: bool = False) -> None:
        """Waits, no longer than ``seconds``, for the first listing of servers whose tools are not known yet.

        ``again`` also connects to servers whose tools are remembered from an earlier run.
        """
        waited_for = [upstream for upstream in self._upstreams if again or not upstream.tools]
        if not waited_for:
            return
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for upstream in waited_for:
                    tasks.start_soon(upstream.wait_until_settled)

    def _resolve_server(self, name: str) -> str:
        """Returns the server's own name; the name of the module that code imports is understood too."""
        known = [upstream.name for upstream in self._upstreams]
        if name in known:
            return name
        spelled = {module: server for server, module in self._library.catalog.modules.items()}
        same = [server for server in known if fold_name(server) == fold_name(name)] if name not in spelled else []
        if len(same) == 1:
            return same[0]
        if name not in spelled:
            near = find_near_names(name, known)
            hint = "" if near else f"; there are {', '.join(known[:20])}" if known else "; none is configured"
            raise NotFound(f"there is no server {name[:80]!r}{hint}", near=near)
        return spelled[name]

    async def definition_tokens(self) -> Mapping[str, int]:
        """Returns the tokens that each tool's definition would cost in a model's context, by the tool's key."""
        catalog = self._library.catalog
        if self._tokens is None or self._tokens[0] is not catalog:
            self._tokens = catalog, await asyncio.to_thread(_count_definitions, catalog)
        return self._tokens[1]


def _count_definitions(catalog: Catalog) -> dict[str, int]:
    count = _load_counter()
    return {tool.key: count(render_for_model(tool)) for tool in catalog}


def _load_counter() -> Count:
    return load_token_counter() or estimate_tokens
