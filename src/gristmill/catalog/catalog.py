"""The catalog: an immutable snapshot of all tools, and the comparison of two snapshots.

Python names are chosen here, once per snapshot. Nothing here talks to servers.
"""

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

from msgspec import Struct

from gristmill.catalog.definition_bounds import find_excess
from gristmill.catalog.python_names import make_python_names
from gristmill.errors import UnknownTool
from gristmill.loose_names import LooseNames, build_loose_names
from gristmill.model import Json, Tool

NAME_CHARACTERS = 200
"""How much of a name that does not exist an error repeats."""
MOST_CANDIDATES = 12
"""How many of the tools that a name can mean an error lists."""
MOST_COMPARED = 50
"""With how many keys a misspelt one is compared letter by letter."""


class SkippedTool(Struct, frozen=True, kw_only=True):
    """A tool definition that the catalog does not contain, and the reason."""

    key: str
    reason: str


class CatalogDifference(Struct, frozen=True, kw_only=True):
    """The changes from one snapshot to the next, as tool keys in catalog order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class Catalog(Struct, frozen=True, kw_only=True, dict=True):
    """All tools of all servers at one moment. It has a ``__dict__`` only to hold its cached properties."""

    version: str
    tools: Mapping[str, Tool]
    hashes: Mapping[str, str]
    left_out: tuple[SkippedTool, ...] = ()

    @classmethod
    def from_tools(cls, tools: Iterable[Tool]) -> Self:
        """Builds a snapshot of ``tools``, sorted by key. Leaves out tools that are too big or whose key is already taken."""
        kept: dict[str, Tool] = {}
        hashes: dict[str, str] = {}
        left_out: list[SkippedTool] = []
        for tool in sorted(tools, key=lambda tool: (tool.server, tool.name)):
            reason = "another tool has the same key" if tool.key in kept else find_excess(definition_to_json(tool))
            if reason is not None:
                left_out.append(SkippedTool(key=tool.key, reason=reason))
                continue
            kept[tool.key] = tool
            hashes[tool.key] = hash_definition(tool)
        version = hashlib.sha256("\n".join(hashes.values()).encode()).hexdigest()
        return cls(version=version, tools=kept, hashes=hashes, left_out=tuple(left_out))

    def __len__(self) -> int:
        return len(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools.values())

    def __contains__(self, key: object) -> bool:
        return key in self.tools

    def get(self, key: str) -> Tool:
        """Returns the tool with that key; other spellings (``github.get_user`` for ``github.get-user``) also work.

        Raises:
            UnknownTool: there is no such tool, or several; carries similar keys.
        """
        found = self.find_key(key)
        if found is None:
            if several := self.loose_names.find_keys(key):
                raise UnknownTool(
                    f"{key[:NAME_CHARACTERS]!r} is a tool of several servers: write one of {', '.join(several[:MOST_CANDIDATES])}"
                )
            raise UnknownTool(f"there is no tool {key[:NAME_CHARACTERS]!r}", near=self.near_keys(key))
        return self.tools[found]

    def find_key(self, key: str) -> str | None:
        """Returns the key as its server spells it, or None. It costs as little for a name that code has invented."""
        if key in self.tools:
            return key
        if (found := self._keys_by_python_spelling.get(key)) is not None:
            return found
        loose = self.loose_names.find_keys(key)
        return loose[0] if len(loose) == 1 else None

    def near_keys(self, key: str, *, limit: int = 3) -> tuple[str, ...]:
        """Returns keys that are similar to ``key``: keys of tools with the same name, then misspellings."""
        key = key[:NAME_CHARACTERS]
        same_name = [known for known, tool in self.tools.items() if tool.name == key.rpartition(".")[2]]
        close = difflib.get_close_matches(key, self._choose_similar(key), n=limit, cutoff=0.7) if len(same_name) < limit else []
        return tuple(dict.fromkeys([*same_name, *close]))[:limit]

    def _choose_similar(self, key: str) -> list[str]:
        """Returns the keys that share most with ``key``: to compare it with thousands of keys letter by letter takes too long."""
        shared = Counter[str]()
        for part in _split_trigrams(key):
            shared.update(self._keys_by_trigram.get(part, ()))
        return [known for known, _ in shared.most_common(MOST_COMPARED)]

    def tools_of_server(self, server: str) -> tuple[Tool, ...]:
        """Returns the tools of one server in order; empty if there is no such server."""
        return self._tools_by_server.get(server, ())

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Maps each server's name to the module it is imported as: ``servers.<module>``."""
        return make_python_names(self._tools_by_server, "server")

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """Maps each tool's key to the function it is imported as: ``from servers.<module> import <function>``."""
        found: dict[str, str] = {}
        for server, tools in self._tools_by_server.items():
            names = make_python_names((tool.name for tool in tools), "tool")
            found.update((f"{server}.{name}", function) for name, function in names.items())
        return found

    @cached_property
    def loose_names(self) -> LooseNames:
        """Finds tools by names as models write them."""
        return build_loose_names(self, self.functions)

    @cached_property
    def _tools_by_server(self) -> Mapping[str, tuple[Tool, ...]]:
        found: dict[str, list[Tool]] = {}
        for tool in self:
            found.setdefault(tool.server, []).append(tool)
        return {server: tuple(tools) for server, tools in found.items()}

    @cached_property
    def _keys_by_trigram(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key in self.tools:
            for part in _split_trigrams(key):
                found.setdefault(part, []).append(key)
        return found

    @cached_property
    def _keys_by_python_spelling(self) -> Mapping[str, str]:
        return {f"{self.modules[tool.server]}.{self.functions[tool.key]}": tool.key for tool in self}


def _split_trigrams(key: str) -> set[str]:
    return {key[place : place + 3] for place in range(max(1, len(key) - 2))}


def compare_catalogs(old: Catalog, new: Catalog) -> CatalogDifference:
    """Compares two snapshots: returns the tools that were added, were removed, or have another definition."""
    return CatalogDifference(
        added=tuple(key for key in new.tools if key not in old.tools),
        removed=tuple(key for key in old.tools if key not in new.tools),
        changed=tuple(key for key, seen in new.hashes.items() if old.hashes.get(key, seen) != seen),
    )


def definition_to_json(tool: Tool) -> dict[str, Json]:
    """Returns everything that a server said about the tool, as JSON."""
    return {
        "server": tool.server,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
    }


def render_for_model(tool: Tool) -> str:
    """Returns what a client puts into a model's context for the tool, as compact JSON: no result types, no annotations."""
    definition = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return json.dumps(definition, separators=(",", ":"), ensure_ascii=False)


def hash_definition(tool: Tool) -> str:
    """Returns the SHA-256 of the definition. The order of keys does not count, except the order of the parameters."""
    properties = tool.input_schema.get("properties")
    order = list(properties) if isinstance(properties, Mapping) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    # Required parameters may be passed by position, so their order is part of what the tool means.
    canonical = json.dumps([definition_to_json(tool), order], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
