"""Folds hits that are the same tool on several servers into one, and hits that are nearly the same.

How alike descriptions and parameters must be was chosen on the public dev sets, where one set has many such tools.
"""

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from gristmill.catalog.search.search_hits import SearchHit
from gristmill.catalog.types.loose_schema import read_parameter_schemas
from gristmill.model import Tool

MOST_DUPLICATES = 10
"""How many more hits are looked at, so that folded ones leave their places to others."""
MOST_NAMED = 5
"""Most other tools that are named for one tool."""
ALIKE = 0.85
"""The least cosine between the descriptions of tools that are nearly the same."""
SHARED_PARAMETERS = 0.5
"""The least share of the names of parameters that such tools have in common."""


class FoldedHits(Struct, frozen=True, kw_only=True):
    """Different hits, best first, and by key the keys of tools that are the same elsewhere, or nearly the same."""

    hits: tuple[SearchHit, ...]
    also: Mapping[str, Sequence[str]] = {}
    similar: Mapping[str, Sequence[str]] = {}


def fold_duplicates(hits: Sequence[SearchHit], limit: int) -> FoldedHits:
    """Returns at most ``limit`` hits, best first; a tool that is like a better hit takes no place of its own."""
    kept: list[SearchHit] = []
    by_name: dict[str, list[Tool]] = {}
    also: dict[str, list[str]] = {}
    similar: dict[str, list[str]] = {}
    for hit in hits:
        rivals = by_name.setdefault(hit.tool.name.lower(), [])
        same = next((tool for tool in rivals if _is_same(tool, hit.tool)), None)
        like = same or next((tool for tool in rivals if _is_alike(tool, hit.tool)), None)
        if like is None:
            rivals.append(hit.tool)
            kept.append(hit)
        else:
            (also if same else similar).setdefault(like.key, []).append(hit.tool.key)
    chosen = tuple(kept[:limit])
    keys = [hit.tool.key for hit in chosen]
    return FoldedHits(
        hits=chosen,
        also={key: tuple(also[key][:MOST_NAMED]) for key in keys if key in also},
        similar={key: tuple(similar[key][:MOST_NAMED]) for key in keys if key in similar},
    )


def _is_same(one: Tool, two: Tool) -> bool:
    """Whether name, description and schemas are equal; a tool without description is like no other."""
    return bool(one.description) and _describe_tool(one) == _describe_tool(two)


def _describe_tool(tool: Tool) -> str:
    return json.dumps([tool.name, tool.description, tool.input_schema, tool.output_schema], sort_keys=True, default=str)


def _is_alike(one: Tool, two: Tool) -> bool:
    """Whether tools of one name have descriptions of one meaning and share most parameters."""
    if not one.description or not two.description:
        return False
    names, others = set(read_parameter_schemas(one)), set(read_parameter_schemas(two))
    if len(names & others) < SHARED_PARAMETERS * len(names | others):
        return False
    from gristmill.catalog.search.rankers.word_vectors import load_shipped_vectors

    first, second = load_shipped_vectors().embed([one.description, two.description])
    return float(first @ second) >= ALIKE
