"""Signs of poison in definitions: hidden characters, and text about other servers' tools. It flags, never decides."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, cast

from gristmill.catalog.catalog import Catalog, definition
from gristmill.catalog.types.loose_schema import mapping, sequence
from gristmill.catalog.visible_text import hidden_runs, one_line
from gristmill.model import Json, Tool
from gristmill.values import dataclass

Rule = Literal["hidden-characters", "foreign-tool"]
_RULES = ("hidden-characters", "foreign-tool")

MAX_FINDINGS = 10

_WORD = re.compile(r"[A-Za-z0-9_.-]{3,130}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One suspicious place in one definition."""

    key: str
    rule: Rule
    place: str
    shown: str


def scan(catalog: Catalog) -> tuple[Finding, ...]:
    """What is suspicious in ``catalog``, tool by tool, at most `MAX_FINDINGS` each."""
    owners = _owners(catalog)
    found: list[Finding] = []
    for tool in catalog:
        findings = _scan_tool(tool, owners)
        found += [finding for finding, _ in zip(findings, range(MAX_FINDINGS), strict=False)]
    return tuple(found)


def findings_to_json(findings: Iterable[Finding]) -> list[dict[str, Json]]:
    """Findings as JSON."""
    return [{"key": each.key, "rule": each.rule, "place": each.place, "shown": each.shown} for each in findings]


def findings_from_json(value: Json) -> tuple[Finding, ...]:
    """The reverse of `findings_to_json`; what is not understood is left out."""
    found: list[Finding] = []
    for entry in sequence(value):
        each = mapping(entry)
        if each.get("rule") in _RULES and {"key", "place", "shown"} <= each.keys():
            found.append(Finding(key=str(each["key"]), rule=each["rule"], place=str(each["place"]), shown=str(each["shown"])))
    return tuple(found)


def _scan_tool(tool: Tool, owners: Mapping[str, set[str]]) -> Iterator[Finding]:
    for place, text in _texts(definition(tool), ""):
        for run in hidden_runs(text):
            yield Finding(key=tool.key, rule="hidden-characters", place=one_line(place), shown=run[:200])
        # Names of its own parameters and values are no talk about others: only prose is read for that.
        if place.endswith(("description", "title")):
            for word in sorted({word.strip(".-") for word in _WORD.findall(text)}):
                servers = owners.get(word)
                if servers and tool.server not in servers:
                    yield Finding(key=tool.key, rule="foreign-tool", place=one_line(place), shown=word)


def _owners(catalog: Catalog) -> dict[str, set[str]]:
    """Which servers own a word: full keys, and names that are no everyday word."""
    owners: dict[str, set[str]] = {}
    for tool in catalog:
        owners.setdefault(tool.key, set()).add(tool.server)
        if len(tool.name) >= 6 and ("_" in tool.name or "-" in tool.name):
            owners.setdefault(tool.name, set()).add(tool.server)
    return owners


def _texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    """Every string in a definition with its place; keys count as text too. The catalog bounds the depth."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Json]", value).items():
            yield f"{place} key", key
            yield from _texts(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Json]", value)):
            yield from _texts(inner, f"{place}[{index}]")
