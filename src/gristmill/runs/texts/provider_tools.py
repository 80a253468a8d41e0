"""Converts our tools to the format of a model provider's API, for its own code mode and tool search; calls still go through us.

Only the format changes, nothing is decided here. A call comes back under the provider's name for the tool; ``names`` maps it to
our key, and the program that runs the conversation passes it to the runtime, where every rule applies.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from gristmill.model import Tool

Format = Literal["anthropic", "openai"]

NAME_LENGTH = 64
DESCRIPTION_LENGTH = 4_000
CODE_EXECUTION = "code_execution_20260521"
TOOL_SEARCH = "tool_search_tool_bm25_20251119"

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_COMBINED = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else")


class ExportOptions(Struct, frozen=True, kw_only=True):
    """What the provider should do itself: find tools by its own search (``defer``), call them from its own code (``code``)."""

    defer: bool = True
    code: bool = True


class ExportedTools(Struct, frozen=True, kw_only=True):
    """The converted tools: ``tools`` for the request, ``names`` from the provider's name to our key, and ``left_out`` with the
    reasons by the keys of the tools that the provider does not accept."""

    tools: tuple[Mapping[str, Any], ...]
    names: Mapping[str, str]
    left_out: Mapping[str, str]


def export_tools(tools: Iterable[Tool], form: Format, options: ExportOptions) -> ExportedTools:
    """Converts ``tools`` to the format ``form``; the same tools always give the same result, so that prompt caches stay valid."""
    ordered = sorted(tools, key=lambda tool: (tool.server, tool.name))
    left_out = {tool.key: reason for tool in ordered if (reason := _find_refusal_reason(tool))}
    kept = [tool for tool in ordered if tool.key not in left_out]
    made = _export_for_anthropic(kept, options) if form == "anthropic" else _export_for_openai(kept, options)
    return replace(made, left_out=left_out)


def make_provider_name(text: str, taken: Iterable[str] = ()) -> str:
    """Converts ``text`` to a name that every provider accepts; one that is too long or taken ends with a digest of ``text``."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "tool"
    if len(plain) <= NAME_LENGTH and plain not in taken:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    # A server chooses the names of its tools: it can make 8 digits equal to those of another tool's name, but not 48.
    made = (f"{plain[: NAME_LENGTH - length - 1]}_{digest[:length]}" for length in (8, 48))
    return next((name for name in made if name not in taken), digest)


def _find_refusal_reason(tool: Tool) -> str | None:
    properties = tool.input_schema.get("properties")
    names = cast("Mapping[str, Any]", properties if isinstance(properties, Mapping) else {})
    bad = next((name for name in names if not _PROPERTY.fullmatch(name)), None)
    return f"providers do not accept a parameter called {bad[:80]!r}" if bad is not None else None


def _export_for_anthropic(tools: list[Tool], options: ExportOptions) -> ExportedTools:
    names: dict[str, str] = {}
    found: list[Mapping[str, Any]] = []
    if options.defer:
        found.append({"type": TOOL_SEARCH, "name": "tool_search_tool_bm25"})
    if options.code:
        found.append({"type": CODE_EXECUTION, "name": "code_execution"})
    for tool in tools:
        name = make_provider_name(f"{tool.server}__{tool.name}", names)
        names[name] = tool.key
        entry: dict[str, Any] = {
            "name": name,
            # This format has no field for the output schema, and code has to know what a call returns.
            "description": describe_tool(tool, with_output=options.code),
            "input_schema": build_input_schema(tool),
        }
        entry |= {"allowed_callers": ["direct", CODE_EXECUTION]} if options.code else {}
        found.append(entry | ({"defer_loading": True} if options.defer else {}))
    return ExportedTools(tools=tuple(found), names=names, left_out={})


def _export_for_openai(tools: list[Tool], options: ExportOptions) -> ExportedTools:
    names: dict[str, str] = {}
    spaces: dict[str, str] = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for tool in tools:
        if tool.server not in spaces:
            spaces[tool.server] = make_provider_name(tool.server, spaces.values())
        space = spaces[tool.server]
        inside = groups.setdefault(space, [])
        name = make_provider_name(tool.name, {entry["name"] for entry in inside})
        names[f"{space}.{name}"] = tool.key
        inside.append(_build_function_entry(tool, name, options))
    found: list[Mapping[str, Any]] = [
        {"type": "namespace", "name": spaces[server], "description": f"Tools of {server[:100]}.", "tools": groups[spaces[server]]}
        for server in spaces
    ]
    found += [{"type": "tool_search"}] if options.defer else []
    found += [{"type": "programmatic_tool_calling"}] if options.code else []
    return ExportedTools(tools=tuple(found), names=names, left_out={})


def _build_function_entry(tool: Tool, name: str, options: ExportOptions) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "function",
        "name": name,
        "description": describe_tool(tool, with_output=False),
        "parameters": build_input_schema(tool),
        "strict": False,  # strict mode refuses many schemas of servers; we check arguments ourselves
    }
    if options.code:
        entry["allowed_callers"] = ["direct", "programmatic"]
        entry |= {"output_schema": dict(tool.output_schema)} if tool.output_schema else {}
    return entry | ({"defer_loading": True} if options.defer else {})


def build_input_schema(tool: Tool) -> dict[str, Any]:
    """Returns the input schema as providers accept it: an object without alternatives at the top level.

    `describe_tool` puts the alternatives into the description.
    """
    plain: dict[str, Any] = {"type": "object", "properties": {}}
    return plain | {key: value for key, value in tool.input_schema.items() if key not in (*_COMBINED, "$schema", "type")}


def describe_tool(tool: Tool, *, with_output: bool) -> str:
    """Returns the description for a provider: with what its format has no other place for."""
    text = (tool.description or tool.title or tool.name)[:DESCRIPTION_LENGTH]
    combined = {key: tool.input_schema[key] for key in _COMBINED if key in tool.input_schema}
    if combined:
        text += f"\n\nThe arguments also satisfy {_dump_compact_json(combined)}"
    if with_output:
        shape = (
            f"JSON of the schema {_dump_compact_json(tool.output_schema)}"
            if tool.output_schema
            else "JSON, or text where it has no other form"
        )
        text += f"\n\nReturns {shape}"
    return text


def _dump_compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)[:DESCRIPTION_LENGTH]
