"""Folds hits that are the same tool on several servers into one."""

import json
from collections.abc import Mapping, Sequence

from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Tool

MOST_DUPLICATES = 10
"""How many more hits are looked at, so that folded ones leave their places to others."""
MOST_NAMED = 5
"""Most other servers that are named for one tool."""


def fold_duplicates(hits: Sequence[SearchHit], limit: int) -> tuple[list[SearchHit], Mapping[str, tuple[str, ...]]]:
    """Returns at most ``limit`` different hits, best first, and by key the keys of those that are the same elsewhere."""
    kept: dict[str, SearchHit] = {}
    also: dict[str, list[str]] = {}
    for hit in hits:
        first = kept.setdefault(_describe_tool(hit.tool), hit)
        if first is not hit:
            also.setdefault(first.tool.key, []).append(hit.tool.key)
    chosen = list(kept.values())[:limit]
    return chosen, {hit.tool.key: tuple(also[hit.tool.key][:MOST_NAMED]) for hit in chosen if hit.tool.key in also}


def _describe_tool(tool: Tool) -> str:
    """Returns what makes two tools the same: name, description and parameters; a tool without description is like no other."""
    if not tool.description:
        return tool.key
    return json.dumps([tool.name, tool.description, tool.input_schema, tool.output_schema], sort_keys=True, default=str)
