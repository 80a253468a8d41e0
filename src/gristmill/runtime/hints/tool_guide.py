"""Explains a tool to a model whose program failed: its signature, the shape of a real result, and one example."""

import json
import re
from collections.abc import Mapping

from msgspec import Struct

from gristmill.catalog.answers.compact_signature import render_compact_signature
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.catalog.types.loose_schema import read_parameter_schemas, read_required_names
from gristmill.loose_json import as_list
from gristmill.model import Json, Tool
from gristmill.near_names import find_near_names
from gristmill.runtime.hints.failure_class import MOST_CODE_SEARCHED
from gristmill.runtime.hints.result_samples import ResultSample, describe_sample, describe_schema_sample, sample_schema

MOST_SERVERS, MOST_TOOLS = 5, 5
MOST_SIGNATURE = 300
_READING = ("get", "list", "search", "find", "read", "query")
"""How the names of tools begin that make good examples."""
_WORD = re.compile(r"\w+")
_VALUES: Mapping[str, str] = {
    "string": '"..."',
    "integer": "1",
    "number": "1.0",
    "boolean": "True",
    "array": "[...]",
    "object": "{...}",
}


class ToolGuide(Struct, frozen=True):
    """What can be said about the tools that are there now."""

    catalog: Catalog
    learned: Mapping[str, LearnedResultType]
    server_names: tuple[str, ...] = ()

    def describe_servers(self) -> str:
        """Returns the servers, with some of their tools."""
        modules = dict(self.catalog.modules)
        parts = [self._describe_server(server, module) for server, module in list(modules.items())[:MOST_SERVERS]]
        parts += [name for name in self.server_names if name not in modules][: MOST_SERVERS - len(parts)]
        count = len({*modules, *self.server_names})
        if not count:
            return "no tool server is connected"
        more = f" and {count - len(parts)} more" if count > len(parts) else ""
        return f"connected: {', '.join(parts)}{more}"

    def _describe_server(self, server: str, module: str) -> str:
        names = [self.catalog.functions[tool.key] for tool in self.catalog.tools_of_server(server)]
        more = ", ..." if len(names) > MOST_TOOLS else ""
        return f"{module} ({', '.join(names[:MOST_TOOLS])}{more})" if names else module

    def find_server(self, name: str) -> str | None:
        """Returns the server with that name or module name."""
        return next((server for server, module in self.catalog.modules.items() if name in (server, module)), None)

    def find_tool(self, name: str) -> Tool | None:
        """Returns the tool with that key or Python name (``pam.get_expenses``), or the only tool whose function has that name."""
        if "." not in name:
            found = [key for key, function in self.catalog.functions.items() if function == name]
            return self.catalog.tools[found[0]] if len(found) == 1 else None
        key = self.catalog.find_key(name)
        return self.catalog.tools[key] if key is not None else None

    def find_named_tools(self, code: str, most: int) -> list[Tool]:
        """Returns the tools whose functions, of servers that are named too, are named in ``code``."""
        words = set(_WORD.findall(code[:MOST_CODE_SEARCHED]))
        named = (key for key, function in self.catalog.functions.items() if function in words)
        tools = (self.catalog.tools[key] for key in named)
        return [tool for tool in tools if self.catalog.modules.get(tool.server) in words or tool.server in words][:most]

    def write_import(self, tool: Tool) -> str:
        """Returns the import of a tool."""
        return f"from servers.{self.catalog.modules[tool.server]} import {self.catalog.functions[tool.key]}"

    def find_example_import(self) -> str:
        """Returns the import of any tool, as an example."""
        tools = list(self.catalog.tools.values())
        shown = next((tool for tool in tools if tool.name.lower().startswith(_READING)), next(iter(tools), None))
        return f"`{self.write_import(shown)}`" if shown else "`from servers.NAME import tool`"

    def describe_tools_of(self, server: str, wanted: str) -> str | None:
        """Returns the tools of a server that are most like ``wanted``, with their signatures."""
        tools = {self.catalog.functions[tool.key]: tool for tool in self.catalog.tools_of_server(server)}
        near = [name for name in find_near_names(wanted, tools) if name in tools][:2] or (list(tools) if len(tools) <= 2 else [])
        if not tools:
            return None
        shown = [self.write_signature(tools[name]) for name in near]
        names = ", ".join(list(tools)[: 2 * MOST_TOOLS]) + (", ..." if len(tools) > 2 * MOST_TOOLS else "")
        return f"there is {' and '.join(shown)}" if shown else f"{self.catalog.modules[server]} has {names}"

    def write_signature(self, tool: Tool) -> str:
        """Returns the signature of a tool, with the module in front."""
        text = render_compact_signature(tool)
        return f"{self.catalog.modules[tool.server]}.{text[:MOST_SIGNATURE]}{'...' if len(text) > MOST_SIGNATURE else ''}"

    def describe_result(self, tool: Tool, seen: ResultSample | None) -> str:
        """Returns the shape of a result that was seen, or else of the learned or declared type; empty if none is known."""
        if seen is not None:
            return f"it returned {describe_sample(seen)}"
        learned = self.learned.get(tool.key)
        known = sample_schema(learned.schema if learned else tool.output_schema)
        return f"it returns {describe_schema_sample(known)}" if known else ""

    def write_guide(self, tool: Tool, seen: ResultSample | None) -> str:
        """Returns signature, result and one example of a tool, as lines."""
        learned = self.learned.get(tool.key)
        shape = seen or sample_schema(learned.schema if learned else tool.output_schema)
        lines = (self.write_signature(tool), self.describe_result(tool, seen), self._write_example(tool, shape))
        return "\n".join(line for line in lines if line)

    def _write_example(self, tool: Tool, shape: ResultSample | None) -> str:
        schemas, needed = read_parameter_schemas(tool), read_required_names(tool)
        given = ", ".join(f"{name}={_write_value(schemas[name])}" for name in schemas if name in needed and name.isidentifier())
        call = f"{self.catalog.functions[tool.key]}({given})"
        return f"example:\n{self.write_import(tool)}\nanswer = {call}\n{_write_use(shape)}"


def _write_value(schema: Mapping[str, Json]) -> str:
    """Returns a literal that fits the schema of a parameter."""
    known = next((each for each in (*as_list(schema.get("enum")), *as_list(schema.get("examples")), schema.get("default"))), None)
    if isinstance(known, str | int | float | bool):
        return repr(known)[:60]
    kind = schema.get("type")
    return _VALUES.get(kind, "...") if isinstance(kind, str) else "..."


def _write_use(shape: ResultSample | None) -> str:
    """Returns the line that prints a part of a result of that shape."""
    if shape is not None and shape.kind == "list" and shape.item is not None and shape.item.fields:
        name = next(iter(shape.item.fields))
        return f"print(len(answer), [row[{json.dumps(name)}] for row in answer[:3]])"
    if shape is not None and shape.fields:
        return f"print(answer[{json.dumps(next(iter(shape.fields)))}])"
    return "print(answer)"
