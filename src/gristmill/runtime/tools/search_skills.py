"""Searches skills together with tools: skills belong to a user, so they join the best tools anew in each search."""

import re
from collections.abc import Sequence
from itertools import islice

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Tool
from gristmill.runtime.tools.tool_library import SearchableTools

MOST_CANDIDATES = 50
"""Most tools that skills are compared with; scores of one search cannot be compared with those of another."""


def index_with_skills(
    searchable: SearchableTools, query: str, skills: Sequence[Tool], server: str | None = None
) -> SearchableTools:
    """Returns a small snapshot of ``skills`` and the tools that match ``query`` best, with an index over exactly these."""
    tools = tuple(searchable.catalog)
    if len(tools) > MOST_CANDIDATES:
        of_server = server if server in searchable.index.servers else None
        tools = tuple(hit.tool for hit in searchable.index.search(query, MOST_CANDIDATES, server=of_server))
    catalog = Catalog.from_tools([*tools, *skills])
    return SearchableTools(catalog=catalog, index=searchable.index.build(tuple(catalog)))


def list_hits(tools: Sequence[Tool], server: str | None, limit: int) -> list[SearchHit]:
    """Returns the first tools in their order, of one server or of all: the answer to a question without words."""
    wanted = (tool for tool in tools if server in (None, tool.server))
    return [SearchHit(tool=tool, score=0.0) for tool in islice(wanted, max(limit, 0))]


def match_by_words(query: str, skills: Sequence[Tool], limit: int) -> list[SearchHit]:
    """Returns the skills that share a word with ``query``, for when there is too little else to rank them against."""
    asked = _split_words(query)
    shared = [(len(asked & _split_words(f"{skill.name} {skill.description}")), skill) for skill in skills]
    ranked = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])
    return [SearchHit(tool=skill, score=float(count)) for count, skill in ranked[:limit]]


def _split_words(text: str) -> set[str]:
    return {word for word in re.split(r"[\W_]+", text.lower()) if len(word) > 2}
