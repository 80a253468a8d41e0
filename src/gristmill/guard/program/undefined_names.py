"""Says what the names mean that a program uses and does not define: servers, tools, and functions such as ``call_tool``.

The meanings are sent to the guest with the program (``guest/call_shapes/lazy_names.py``), as text: ``server:<module>``,
``tool:<module>.<function>``, ``path:<name>`` for a name that only a call can resolve, ``space:`` and ``word:<function>``.
"""

import builtins
import re
import symtable
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gristmill.guard.program.known_tools import KnownServer
from gristmill.loose_names import LooseNames, fold_name

NAMESPACES = frozenset({"servers", "tools", "mcp", "codemode"})
"""Names whose attributes are servers and tools."""
WORDS: Mapping[str, str] = {
    **dict.fromkeys(("call_tool", "call_mcp_tool", "callTool", "callMCPTool", "callMcpTool"), "call_tool"),
    **dict.fromkeys(("search_tools", "searchTools"), "search_tools"),
    **dict.fromkeys(("list_servers", "listServers"), "list_servers"),
    **dict.fromkeys(("list_categories", "listCategories"), "list_categories"),
    "list_tools": "list_tools", "listTools": "list_tool_names",
    **dict.fromkeys(("list_directory", "listDirectory"), "list_directory"),
    **dict.fromkeys(("read_file", "readFile"), "read_file"),
}  # fmt: skip
"""Functions that programs use without importing them, and the guest's name for each."""
FILE_WORDS = frozenset({"list_directory", "read_file"})
"""Words that tools of file servers have too; theirs are all paths that do not begin with ``servers``."""
FILES = "files:"
"""The meaning that lets Python's own functions for files find the tree of tools."""

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_PATH = re.compile(r"""["'](?:\./)?servers(?:/[^"'\n]*)?["']""")
BUILTINS = frozenset(dir(builtins))
_FIXED = frozenset(fold_name(each) for each in (*NAMESPACES, *WORDS))


class NameMeanings(Struct, frozen=True, kw_only=True):
    """What names mean beside those that a program defines."""

    servers: Mapping[str, str]
    """Folded name -> module of a server."""
    loose: LooseNames
    tools: Mapping[str, str]
    """Key -> ``<module>.<function>``."""
    folded: frozenset[str]
    """Every name that means something, folded."""

    def list_candidates(self, code: str) -> dict[str, str]:
        """Returns the words of ``code`` that mean something if the program does not define them, with their meanings."""
        folded, found = self.folded, dict[str, str]()
        for word in set(_WORD.findall(code)) - BUILTINS:
            if word.isupper():
                continue  # a constant
            if (word.replace("_", "").lower() in folded or word[:5] == "mcp__") and (meaning := self.find_meaning(word)):
                found[word] = meaning
        return found

    def find_meaning(self, name: str) -> str | None:
        """Returns what ``name`` means, or None."""
        if name in NAMESPACES:
            return "space:"
        if (word := WORDS.get(name)) is not None:
            keys = self.loose.exact.get(name, ()) if word in FILE_WORDS else ()
            return f"word:{word}:{keys[0]}" if len(keys) == 1 else f"word:{word}"
        if (module := self.servers.get(fold_name(name))) is not None:
            return f"server:{module}"
        keys = self.loose.find_keys(name)
        if len(keys) == 1:
            return f"tool:{self.tools[keys[0]]}"
        return f"path:{name}" if keys or name.startswith("mcp__") else None


def build_name_meanings(servers: Iterable[KnownServer], unlisted: Iterable[str], loose: LooseNames) -> NameMeanings:
    """Builds the tables for these servers, and for those whose tools are not known yet."""
    modules: dict[str, str] = {}
    tools: dict[str, str] = {}
    for name in unlisted:
        modules[fold_name(name)] = name
    for server in servers:
        modules[fold_name(server.module)] = modules[fold_name(server.name)] = server.module
        tools |= {tool.key: f"{server.module}.{function}" for function, tool in server.tools.items()}
    folded = frozenset((*_FIXED, *modules, *loose.by_tool, *loose.by_both, *map(fold_name, loose.exact)))
    return NameMeanings(servers=modules, loose=loose, tools=tools, folded=folded - {""})


def has_undefined_names(code: str) -> bool:
    """Returns whether a program uses names that it does not define, as far as can be seen; false if it does not parse."""
    try:
        scopes = [symtable.symtable(code, "<code>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    defined, used = set(BUILTINS), set[str]()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        is_module = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if is_module or symbol.is_global():
                bound = (symbol.is_assigned() or symbol.is_imported()) and (is_module or symbol.is_declared_global())
                (defined if bound else used).add(symbol.get_name())
    return not used <= defined


def mentions_tool_files(code: str) -> bool:
    """Returns whether a program names a path below ``servers``, where the tools can be listed and read as files."""
    return "servers" in code and _PATH.search(code) is not None
