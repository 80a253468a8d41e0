"""Finds signs of poisoning in definitions: hidden characters, and text about other servers' tools. It reports, never decides."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, cast

from msgspec import Struct

from gristmill.catalog.catalog import Catalog, definition_to_json
from gristmill.catalog.visible_text import clean_to_one_line, find_hidden_runs
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json, Tool

Rule = Literal["hidden-characters", "foreign-tool"]
_RULES = ("hidden-characters", "foreign-tool")

MAX_FINDINGS = 10

_WORD = re.compile(r"[A-Za-z0-9_.-]{3,130}")


class DefinitionFinding(Struct, frozen=True, kw_only=True):
    """One suspicious place in one definition."""

    key: str
    rule: Rule
    place: str
    shown: str


def scan_catalog(catalog: Catalog) -> tuple[DefinitionFinding, ...]:
    """Returns what is suspicious in ``catalog``, tool by tool, at most `MAX_FINDINGS` per tool."""
    owners = _map_words_to_servers(catalog)
    found: list[DefinitionFinding] = []
    for tool in catalog:
        findings = _scan_tool(tool, owners)
        found += [finding for finding, _ in zip(findings, range(MAX_FINDINGS), strict=False)]
    return tuple(found)


def findings_to_json(findings: Iterable[DefinitionFinding]) -> list[dict[str, Json]]:
    """Returns findings as JSON."""
    return [{"key": each.key, "rule": each.rule, "place": each.place, "shown": each.shown} for each in findings]


def findings_from_json(value: Json) -> tuple[DefinitionFinding, ...]:
    """Reverses `findings_to_json`; entries that are not understood are left out."""
    found: list[DefinitionFinding] = []
    for entry in as_list(value):
        each = as_mapping(entry)
        if each.get("rule") in _RULES and {"key", "place", "shown"} <= each.keys():
            found.append(
                DefinitionFinding(key=str(each["key"]), rule=each["rule"], place=str(each["place"]), shown=str(each["shown"]))
            )
    return tuple(found)


def _scan_tool(tool: Tool, owners: Mapping[str, set[str]]) -> Iterator[DefinitionFinding]:
    for place, text in _walk_texts(definition_to_json(tool), ""):
        for run in find_hidden_runs(text):
            yield DefinitionFinding(key=tool.key, rule="hidden-characters", place=clean_to_one_line(place), shown=run[:200])
        # Only prose is searched for tools of other servers: a tool's own parameter names and values do not refer to them.
        if place.endswith(("description", "title")):
            for word in sorted({word.strip(".-") for word in _WORD.findall(text)}):
                servers = owners.get(word)
                if servers and tool.server not in servers:
                    yield DefinitionFinding(key=tool.key, rule="foreign-tool", place=clean_to_one_line(place), shown=word)


def _map_words_to_servers(catalog: Catalog) -> dict[str, set[str]]:
    """Maps words to the servers that own them: full keys, and tool names that are not everyday words."""
    owners: dict[str, set[str]] = {}
    for tool in catalog:
        owners.setdefault(tool.key, set()).add(tool.server)
        if len(tool.name) >= 6 and ("_" in tool.name or "-" in tool.name):
            owners.setdefault(tool.name, set()).add(tool.server)
    return owners


def _walk_texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    """Yields every string in a definition with its place; keys count as text too. The catalog limits the depth."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Json]", value).items():
            yield f"{place} key", key
            yield from _walk_texts(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Json]", value)):
            yield from _walk_texts(inner, f"{place}[{index}]")
