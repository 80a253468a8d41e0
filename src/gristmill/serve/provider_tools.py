"""Our tools as a model provider's API takes them: for its own code mode and tool search, with the calls still ours to make.

Only form: nothing is decided here. A call comes back under a provider's name; ``names`` says which tool of ours it means, and
whoever runs the conversation hands it to the runtime, where every rule applies.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from gristmill.model import Tool
from gristmill.values import dataclass

Format = Literal["anthropic", "openai"]

NAME_LENGTH = 64
DESCRIPTION_LENGTH = 4_000
CODE_EXECUTION = "code_execution_20260521"
TOOL_SEARCH = "tool_search_tool_bm25_20251119"

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_COMBINED = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the provider is to do: find tools by its own search, call them from its own code."""

    defer: bool = True
    code: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """``tools`` for the request, ``names`` from a name in an answer to our key, and what could not be said to this provider."""

    tools: tuple[Mapping[str, Any], ...]
    names: Mapping[str, str]
    left_out: Mapping[str, str]


def exported(tools: Iterable[Tool], form: Format, wishes: Wishes) -> Exported:
    """``tools`` in the shape of ``form``; the same every time for the same tools, so that prompt caches hold."""
    ordered = sorted(tools, key=lambda tool: (tool.server, tool.name))
    left_out = {tool.key: reason for tool in ordered if (reason := _reason(tool))}
    kept = [tool for tool in ordered if tool.key not in left_out]
    made = _anthropic(kept, wishes) if form == "anthropic" else _openai(kept, wishes)
    return replace(made, left_out=left_out)


def provider_name(text: str, taken: Iterable[str] = ()) -> str:
    """``text`` as a name that every provider accepts; one that is too long or taken ends with a digest of the original."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "tool"
    if len(plain) <= NAME_LENGTH and plain not in taken:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: NAME_LENGTH - 9]}_{digest}"


def _reason(tool: Tool) -> str | None:
    properties = tool.input_schema.get("properties")
    names = cast("Mapping[str, Any]", properties if isinstance(properties, Mapping) else {})
    bad = next((name for name in names if not _PROPERTY.fullmatch(name)), None)
    return f"providers do not accept a parameter called {bad[:80]!r}" if bad is not None else None


def _anthropic(tools: list[Tool], wishes: Wishes) -> Exported:
    names: dict[str, str] = {}
    found: list[Mapping[str, Any]] = []
    if wishes.defer:
        found.append({"type": TOOL_SEARCH, "name": "tool_search_tool_bm25"})
    if wishes.code:
        found.append({"type": CODE_EXECUTION, "name": "code_execution"})
    for tool in tools:
        name = provider_name(f"{tool.server}__{tool.name}", names)
        names[name] = tool.key
        entry: dict[str, Any] = {
            "name": name,
            # There is no field for it, and code has to know what it gets.
            "description": _described(tool, with_output=wishes.code),
            "input_schema": _schema(tool),
        }
        entry |= {"allowed_callers": ["direct", CODE_EXECUTION]} if wishes.code else {}
        found.append(entry | ({"defer_loading": True} if wishes.defer else {}))
    return Exported(tools=tuple(found), names=names, left_out={})


def _openai(tools: list[Tool], wishes: Wishes) -> Exported:
    names: dict[str, str] = {}
    spaces: dict[str, str] = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for tool in tools:
        if tool.server not in spaces:
            spaces[tool.server] = provider_name(tool.server, spaces.values())
        space = spaces[tool.server]
        inside = groups.setdefault(space, [])
        name = provider_name(tool.name, {entry["name"] for entry in inside})
        names[f"{space}.{name}"] = tool.key
        inside.append(_function(tool, name, wishes))
    found: list[Mapping[str, Any]] = [
        {"type": "namespace", "name": spaces[server], "description": f"Tools of {server[:100]}.", "tools": groups[spaces[server]]}
        for server in spaces
    ]
    found += [{"type": "tool_search"}] if wishes.defer else []
    found += [{"type": "programmatic_tool_calling"}] if wishes.code else []
    return Exported(tools=tuple(found), names=names, left_out={})


def _function(tool: Tool, name: str, wishes: Wishes) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "function",
        "name": name,
        "description": _described(tool, with_output=False),
        "parameters": _schema(tool),
        "strict": False,  # servers write schemas that strict mode refuses; we check arguments ourselves
    }
    if wishes.code:
        entry["allowed_callers"] = ["direct", "programmatic"]
        entry |= {"output_schema": dict(tool.output_schema)} if tool.output_schema else {}
    return entry | ({"defer_loading": True} if wishes.defer else {})


def _schema(tool: Tool) -> dict[str, Any]:
    """The input schema as providers take it: an object, without alternatives at the top; `_described` tells those."""
    plain: dict[str, Any] = {"type": "object", "properties": {}}
    return plain | {key: value for key, value in tool.input_schema.items() if key not in (*_COMBINED, "$schema", "type")}


def _described(tool: Tool, *, with_output: bool) -> str:
    text = (tool.description or tool.title or tool.name)[:DESCRIPTION_LENGTH]
    combined = {key: tool.input_schema[key] for key in _COMBINED if key in tool.input_schema}
    if combined:
        text += f"\n\nThe arguments also satisfy {_compact(combined)}"
    if with_output:
        shape = (
            f"JSON of the schema {_compact(tool.output_schema)}"
            if tool.output_schema
            else "JSON, or text where it has no other form"
        )
        text += f"\n\nReturns {shape}"
    return text


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)[:DESCRIPTION_LENGTH]
