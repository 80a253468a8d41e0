"""Finds tools by names as models write them: ``mcp__github__search_repositories``, ``getExpenses``, ``google-drive/getDocument``.

Case, hyphens and underscores do not count. A name without its server is found if only one server has such a tool.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gristmill.model import Tool

MOST_CHARACTERS = 200
"""Longer names are not looked for: no tool has one."""
MOST_SPLITS = 12
"""At how many places a name is divided into server and tool."""

_NOT_LETTERS = re.compile(r"[\W_]+")
_PREFIX = re.compile(r"(?:mcp__|mcp[./:]|servers[./]|tools[./]|codemode[./])", re.IGNORECASE)
_SEPARATOR = re.compile(r"__|[./:]")
_PLAUSIBLE = re.compile(r"[A-Za-z0-9]+(?:(?:__|[-_./:])[A-Za-z0-9]+)*")
"""What a name may look like that is not spelled as its server spells it: no space, no sign of another alphabet, no empty part."""


def fold_name(name: str) -> str:
    """Returns the letters and digits of a name in lower case: what all its spellings have in common."""
    return _NOT_LETTERS.sub("", name).lower()


class LooseNames(Struct, frozen=True):
    """Tools by the folded names of their servers and their own."""

    by_server: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Folded server name -> folded tool name -> keys."""
    by_tool: Mapping[str, tuple[str, ...]]
    """Folded tool name -> keys of all servers."""
    by_both: Mapping[str, tuple[str, ...]]
    """Folded server and tool name in one word -> keys."""
    exact: Mapping[str, tuple[str, ...]]
    """A tool's own name or the name of its function -> keys of all servers."""

    def find_keys(self, written: str) -> tuple[str, ...]:
        """Returns the keys of the tools that ``written`` can mean; more than one if it is ambiguous."""
        if len(written) > MOST_CHARACTERS:
            return ()
        if found := self.exact.get(written):
            return found
        if _PLAUSIBLE.fullmatch(written) is None:
            return ()
        name = _PREFIX.sub("", written, count=1) if _PREFIX.match(written) else written
        for split in [*_SEPARATOR.finditer(name)][:MOST_SPLITS]:
            tools = self.by_server.get(fold_name(name[: split.start()]), {})
            if found := tools.get(fold_name(name[split.end() :])):
                return found
        whole = fold_name(name)
        return self.exact.get(name) or self.by_tool.get(whole) or self.by_both.get(whole) or ()


def build_loose_names(tools: Iterable[Tool], functions: Mapping[str, str]) -> LooseNames:
    """Builds the tables; ``functions`` holds the Python name of each tool by its key."""
    by_server: dict[str, dict[str, tuple[str, ...]]] = {}
    by_tool: dict[str, tuple[str, ...]] = {}
    by_both: dict[str, tuple[str, ...]] = {}
    exact: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        server, name = fold_name(tool.server), fold_name(tool.name)
        if not server or not name:
            continue
        for table, key in ((by_server.setdefault(server, {}), name), (by_tool, name), (by_both, server + name)):
            table[key] = (*table.get(key, ()), tool.key)
        for spelling in {tool.name, functions[tool.key]}:
            exact[spelling] = (*exact.get(spelling, ()), tool.key)
    return LooseNames(by_server, by_tool, by_both, exact)
