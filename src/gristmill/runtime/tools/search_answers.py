"""The answers of a search, and how they are written."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.answers.answer_types import AnswerTypes, write_plain_types
from gristmill.catalog.answers.choose_details import FULL_HITS, choose_details
from gristmill.catalog.answers.find_prerequisites import find_prerequisites
from gristmill.catalog.answers.first_sentences import find_common, take_first_sentence
from gristmill.catalog.answers.fold_duplicates import FoldedHits
from gristmill.catalog.answers.render_hits import SKILLS, AnswerWriting, render_hits
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResultType, ToolStub, format_call_count
from gristmill.catalog.modules.tool_outline import build_outline, render_short_signature
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel, SearchHit
from gristmill.loose_json import as_mapping
from gristmill.model import Json, Tool

MOST_HITS = 100
MOST_KEYS = 100
MOST_TOKENS = 20_000
LEARNED_TOKENS = 200
"""An answer shorter than this may grow to it with result types that were learned."""
QUERY_CHARACTERS = 2_000
"""Larger requests are cut to these numbers: an answer has to fit into a model's context, and questions are remembered."""


class SearchAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a search: ``hits``, best first, and ``text`` to show to a model."""

    query: str
    hits: tuple[SearchHit, ...]
    text: str
    tools: tuple[Mapping[str, Json], ...] = ()
    """The same tools as dictionaries with exactly the fields of the level of detail."""
    written: tuple[str, ...] = ()
    """The keys of the tools that the text has in full."""
    told: tuple[str, ...] = ()
    """The keys of the tools that the text has at all, with their parameters at least."""


def list_fields(
    hits: Sequence[SearchHit], detail_level: DetailLevel, signature: Callable[[Tool], str]
) -> tuple[dict[str, Json], ...]:
    """Returns the hits as dictionaries: name and server, then the description, then schemas and the signature."""
    return tuple(_build_fields(hit.tool, detail_level, signature) for hit in hits)


def _build_fields(tool: Tool, detail_level: DetailLevel, signature: Callable[[Tool], str]) -> dict[str, Json]:
    fields: dict[str, Json] = {"name": tool.name, "server": tool.server}
    if detail_level != "name_only":
        fields["description"] = tool.description
    if detail_level == "full":
        output = dict(tool.output_schema) if tool.output_schema is not None else None
        fields |= {"input_schema": dict(tool.input_schema), "output_schema": output, "signature": signature(tool)}
    return fields


class DescribedTools(Struct, frozen=True, kw_only=True):
    """Tools described in full: ``text`` is source to read."""

    tools: tuple[Tool, ...]
    text: str


class AnswerSources(Struct, frozen=True, kw_only=True):
    """What an answer is written from: the snapshot, warnings, learned types, skills, and the counter of tokens."""

    catalog: Catalog
    count: Callable[[str], int]
    marks: Mapping[str, str] = {}
    learned: Mapping[str, LearnedResultType] = {}
    with_skills: Catalog | None = None

    def choose_catalog(self, server: str) -> Catalog:
        """Returns the catalog that has the names of a server's tools: those of skills are in one of their own."""
        return self.with_skills if server == SKILLS and self.with_skills is not None else self.catalog


def build_answer_writing(sources: AnswerSources, tools: Sequence[Tool], *, complete: bool = False) -> AnswerWriting:
    """Returns how the answer with ``tools`` is written; records that several of them share are defined once."""

    def outline(tool: Tool, *, learned: bool = True) -> ToolStub:
        known = sources.learned.get(tool.key) if learned else None
        return build_outline(sources.choose_catalog(tool.server), tool, known)

    types = AnswerTypes([outline(tool) for tool in (tools if complete else tools[:FULL_HITS])])

    def write_signature(tool: Tool) -> str:
        stub = outline(tool)
        plain = write_plain_types(stub)
        return render_short_signature(stub, plain.parameters, plain.result)

    def write_typed(tool: Tool) -> tuple[str, Sequence[str]]:
        stub = outline(tool)
        written = types.write(stub)
        learned = [f"result learned from {format_call_count(stub.learned_calls)}"] if stub.learned_calls else []
        return render_short_signature(stub, written.parameters, written.result), [*written.lines, *learned]

    return AnswerWriting(
        signature=write_signature,
        typed=write_typed,
        function=lambda tool: sources.choose_catalog(tool.server).functions[tool.key],
        module=lambda server: sources.choose_catalog(server).modules[server],
        mark=lambda tool: sources.marks.get(tool.key, ""),
        count=sources.count,
        complete=complete,
        repeated=frozenset[str]().union(*(find_common(tool, sources.catalog.tools_of_server(tool.server)) for tool in tools)),
    )


class WantedAnswer(Struct, frozen=True, kw_only=True):
    """How much of an answer is wanted; ``folded`` has the duplicates, ``shown`` are the keys that the asker has seen in full."""

    detail_level: DetailLevel | None = None
    budget_tokens: int = BUDGET_TOKENS
    folded: FoldedHits = FoldedHits(hits=())
    shown: frozenset[str] = frozenset()


def write_answer(query: str, hits: Sequence[SearchHit], sources: AnswerSources, wanted: WantedAnswer) -> SearchAnswer:
    """Returns the answer with its text. Unless everything is asked for, learned result types never make it longer."""
    text = _write_text(hits, sources, wanted)
    unlearned = replace(sources, learned={})
    has_learned = any(hit.tool.key in sources.learned and hit.tool.output_schema is None for hit in hits) or (
        bool(sources.learned) and _note_prerequisites(hits[:1], sources) != _note_prerequisites(hits[:1], unlearned)
    )
    if text and has_learned and wanted.detail_level is None:
        plain = _write_text(hits, unlearned, wanted)
        most = max(sources.count(plain), LEARNED_TOKENS)
        if sources.count(text) > most:
            text = _write_text(hits, sources, replace(wanted, budget_tokens=min(most, wanted.budget_tokens)))
    in_full = wanted.detail_level == "full" or wanted.detail_level is None
    keys, details = tuple(hit.tool.key for hit in hits), choose_details(hits)
    full, told = (
        (keys, keys) if wanted.detail_level else (details.full, tuple(key for key in keys if key not in details.left_out))
    )
    return SearchAnswer(
        query=query, hits=tuple(hits), text=text, written=full if in_full and text else (), told=told if in_full and text else ()
    )


def _write_text(hits: Sequence[SearchHit], sources: AnswerSources, wanted: WantedAnswer) -> str:
    complete = wanted.detail_level == "full"
    tools = [hit.tool for hit in hits]
    shown = frozenset[str]() if wanted.detail_level else wanted.shown
    needed = _note_prerequisites(hits[:1], sources) if tools and tools[0].key not in shown else []
    writing = replace(
        build_answer_writing(sources, tools, complete=complete),
        also=wanted.folded.also, similar=wanted.folded.similar, shown=shown, notes=tuple(needed),
        details=None if wanted.detail_level else choose_details(hits),
    )  # fmt: skip
    return render_hits(hits, detail_level=wanted.detail_level or "full", budget_tokens=wanted.budget_tokens, writing=writing)


def _note_prerequisites(first: Sequence[SearchHit], sources: AnswerSources) -> list[str]:
    """Returns a line for each value that the first hit requires and another tool returns."""
    return [
        f"{take_first_sentence(name, 60)}: see {take_first_sentence(source.key, 100)}"
        for hit in first
        for tool in (hit.tool,)
        if tool.server != SKILLS
        for name, source in find_prerequisites(tool, _add_learned_results(list_candidates(sources.catalog, tool.server), sources))
    ]


def _add_learned_results(tools: Sequence[Tool], sources: AnswerSources) -> list[Tool]:
    """Returns the tools with the types of results that were seen, where none is declared: they say which ids a tool returns."""
    return [
        tool if known is None or tool.output_schema is not None else replace(tool, output_schema=as_mapping(known.schema))
        for tool in tools
        for known in (sources.learned.get(tool.key),)
    ]


def list_candidates(catalog: Catalog, server: str) -> tuple[Tool, ...]:
    """Returns the tools that may return what a tool of ``server`` needs: those of the server, and those that find places."""
    own = catalog.tools_of_server(server)
    return (*own, *(tool for tool in catalog if "geocode" in tool.name.lower() and tool.server != server))
