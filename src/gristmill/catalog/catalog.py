"""The immutable snapshot of what tools exist, and the difference of two. Names are settled here, once per snapshot."""

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

from gristmill.catalog.definition_bounds import excess
from gristmill.catalog.python_names import python_names
from gristmill.errors import UnknownTool
from gristmill.model import Json, Tool
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A definition that the catalog does not carry, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed from one snapshot to the next, as keys in order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """Every tool of every server at one moment. Made by `Catalog.of`; without slots only for its cached views."""

    version: str
    tools: Mapping[str, Tool]
    hashes: Mapping[str, str]
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Self:
        """A snapshot of ``tools``, sorted by key; what is too big or has a key that is taken is left out."""
        kept: dict[str, Tool] = {}
        hashes: dict[str, str] = {}
        left_out: list[LeftOut] = []
        for tool in sorted(tools, key=lambda tool: (tool.server, tool.name)):
            reason = "another tool has the same key" if tool.key in kept else excess(definition(tool))
            if reason is not None:
                left_out.append(LeftOut(key=tool.key, reason=reason))
                continue
            kept[tool.key] = tool
            hashes[tool.key] = definition_hash(tool)
        version = hashlib.sha256("\n".join(hashes.values()).encode()).hexdigest()[:16]
        return cls(version=version, tools=kept, hashes=hashes, left_out=tuple(left_out))

    @classmethod
    def part(cls, tools: Sequence[Tool], modules: Mapping[str, str], functions: Mapping[str, str]) -> Self:
        """Some tools of a snapshot, under the names that were settled in the whole of it."""
        hashes = {tool.key: definition_hash(tool) for tool in tools}
        made = cls(version="", tools={tool.key: tool for tool in tools}, hashes=hashes)
        vars(made).update(modules=modules, functions=functions)  # where `cached_property` looks first
        return made

    def __len__(self) -> int:
        return len(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools.values())

    def __contains__(self, key: object) -> bool:
        return key in self.tools

    def get(self, key: str) -> Tool:
        """The tool of that key; the Python spelling (``github.get_user`` for ``github.get-user``) is understood too.

        Raises:
            UnknownTool: no such tool; carries near names.
        """
        tool = self.tools.get(key) or self.tools.get(self._spellings.get(key, ""))
        if tool is None:
            raise UnknownTool(f"there is no tool {key!r}", near=self.near(key))
        return tool

    def near(self, key: str, *, limit: int = 3) -> tuple[str, ...]:
        """Keys that look like ``key``: the name alone, or a misspelling."""
        key = key[:200]
        same_name = [known for known, tool in self.tools.items() if tool.name == key.rpartition(".")[2]]
        close = difflib.get_close_matches(key, self.tools, n=limit, cutoff=0.7) if len(same_name) < limit else []
        return tuple(dict.fromkeys([*same_name, *close]))[:limit]

    def of_server(self, server: str) -> tuple[Tool, ...]:
        """The tools of one server, in order; empty when there is no such server."""
        return self._by_server.get(server, ())

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Each server's name and the module it is imported as: ``servers.<module>``."""
        return python_names(self._by_server, "server")

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """Each tool's key and the function it is imported as: ``from servers.<module> import <function>``."""
        found: dict[str, str] = {}
        for server, tools in self._by_server.items():
            names = python_names((tool.name for tool in tools), "tool")
            found.update((f"{server}.{name}", function) for name, function in names.items())
        return found

    @cached_property
    def _by_server(self) -> Mapping[str, tuple[Tool, ...]]:
        found: dict[str, list[Tool]] = {}
        for tool in self:
            found.setdefault(tool.server, []).append(tool)
        return {server: tuple(tools) for server, tools in found.items()}

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        return {f"{self.modules[tool.server]}.{self.functions[tool.key]}": tool.key for tool in self}


def difference(old: Catalog, new: Catalog) -> Difference:
    """What ``new`` has that ``old`` had not, the reverse, and what both have under another definition."""
    return Difference(
        added=tuple(key for key in new.tools if key not in old.tools),
        removed=tuple(key for key in old.tools if key not in new.tools),
        changed=tuple(key for key, seen in new.hashes.items() if old.hashes.get(key, seen) != seen),
    )


def definition(tool: Tool) -> dict[str, Json]:
    """Everything a server said about the tool, as JSON."""
    return {
        "server": tool.server,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
    }


def told(tool: Tool) -> str:
    """What a client puts into a model's context for the tool, as compact JSON: no result types, no annotations."""
    definition = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return json.dumps(definition, separators=(",", ":"), ensure_ascii=False)


def definition_hash(tool: Tool) -> str:
    """SHA-256 of the definition: the order of keys does not count, except that of the parameters."""
    properties = tool.input_schema.get("properties")
    order = list(properties) if isinstance(properties, Mapping) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    # Required parameters may be passed by position, so their order is part of what the tool means.
    canonical = json.dumps([definition(tool), order], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
