"""Skills in the same search as tools: they belong to somebody, so they compete with the best tools, search by search."""

import re
from collections.abc import Sequence

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.search.search_hits import Hit
from gristmill.model import Tool
from gristmill.runtime.tools.tool_library import Searchable

CANDIDATES = 50
"""Tools that skills are compared with; scores of one search cannot be compared with those of another."""


def among_skills(searchable: Searchable, query: str, skills: Sequence[Tool], server: str | None = None) -> Searchable:
    """A small snapshot of ``skills`` and the tools that fit ``query`` best, with an index over exactly these."""
    from gristmill.catalog.search.tool_index import Index  # its arrays take 0.2 s to load: only who searches pays

    tools = tuple(searchable.catalog)
    if len(tools) > CANDIDATES:
        of_server = server if server in searchable.index.servers else None
        tools = tuple(hit.tool for hit in searchable.index.search(query, CANDIDATES, server=of_server))
    catalog = Catalog.of([*tools, *skills])
    return Searchable(catalog=catalog, index=Index.build(tuple(catalog)))


def by_words(query: str, skills: Sequence[Tool], limit: int) -> list[Hit]:
    """The skills that share a word with ``query``: for when there is too little else to rank them against."""
    asked = _words(query)
    shared = [(len(asked & _words(f"{skill.name} {skill.description}")), skill) for skill in skills]
    ranked = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])
    return [Hit(tool=skill, score=float(count)) for count, skill in ranked[:limit]]


def _words(text: str) -> set[str]:
    return {word for word in re.split(r"[\W_]+", text.lower()) if len(word) > 2}
