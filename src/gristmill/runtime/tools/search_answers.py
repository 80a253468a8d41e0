"""The answers of a search, and how they are written."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.catalog.modules.tool_outline import render_signature_line, render_type_lines
from gristmill.catalog.search.render_hits import SKILLS, AnswerWriting
from gristmill.catalog.search.search_hits import DetailLevel, SearchHit
from gristmill.model import Json, Tool

MOST_HITS = 100
MOST_KEYS = 100
MOST_TOKENS = 20_000
QUERY_CHARACTERS = 2_000
"""Larger requests are cut to these numbers: an answer has to fit into a model's context, and questions are remembered."""


class SearchAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a search: ``hits``, best first, and ``text`` to show to a model."""

    query: str
    hits: tuple[SearchHit, ...]
    text: str
    tools: tuple[Mapping[str, Json], ...] = ()
    """The same tools as dictionaries with exactly the fields of the level of detail."""


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


def build_answer_writing(
    catalog: Catalog,
    marks: Mapping[str, str],
    learned: Mapping[str, LearnedResultType],
    count: Callable[[str], int],
    with_skills: Catalog | None = None,
) -> AnswerWriting:
    """Returns how answers are written: tools with the names of the whole snapshot, skills with those of ``with_skills``."""

    def choose_catalog(server: str) -> Catalog:
        return with_skills if server == SKILLS and with_skills is not None else catalog

    return AnswerWriting(
        signature=lambda tool: render_signature_line(choose_catalog(tool.server), tool, learned.get(tool.key)),
        function=lambda tool: choose_catalog(tool.server).functions[tool.key],
        module=lambda server: choose_catalog(server).modules[server],
        types=lambda tool: render_type_lines(choose_catalog(tool.server), tool, learned.get(tool.key)),
        mark=lambda tool: marks.get(tool.key, ""),
        count=count,
    )
