"""Reads the imports of a program: which name our tools, which a module of the runtime, and which nothing that is there."""

import re
from typing import Literal

from msgspec import Struct
from tree_sitter import Node

from gristmill.guard.program.typescript.parse_typescript import read_string, read_text

_PREFIX = re.compile(r"^(?:\.{1,2}/|/|@/|~/|src/|workspace/)+")
_SUFFIX = re.compile(r"(?:/index)?(?:\.(?:d\.)?[cm]?[tj]sx?)?$")
_CLIENT_MODULES = frozenset(
    "client mcp_client mcp-client mcpClient mcp tools tool_discovery tool-discovery toolDiscovery codemode servers".split()
)


CLIENT_FUNCTIONS = frozenset("callTool callMCPTool callMcpTool call_tool call_mcp_tool searchTools search_tools".split())
"""Functions of ours, by whatever module a program imports them from."""


class ImportedModule(Struct, frozen=True):
    """What an import names: a server, one tool of it, our client functions, a module of the runtime, or something else."""

    kind: Literal["server", "tool", "client", "builtin", "unknown"]
    server: str = ""
    tool: str = ""
    name: str = ""


class ImportedBinding(Struct, frozen=True):
    """A name that an import makes: ``name`` is the export (``*``: the whole module, ``default``), ``local`` its name here."""

    name: str
    local: str


class ImportStatement(Struct, frozen=True):
    """One import of a program."""

    node: Node
    module: ImportedModule
    bindings: tuple[ImportedBinding, ...]
    is_type: bool


def resolve_module(text: str) -> ImportedModule:
    """Returns what the text behind ``from`` names, such as ``./servers/pam/getExpenses.ts``."""
    if text.startswith("node:"):
        return ImportedModule("builtin", name=text)
    path = _SUFFIX.sub("", _PREFIX.sub("", text))
    parts = path.split("/")
    if parts[0] in ("servers", "tools", "mcp") and len(parts) == 2:
        return ImportedModule("server", server=parts[1])
    if parts[0] in ("servers", "tools", "mcp") and len(parts) == 3:
        return ImportedModule("tool", server=parts[1], tool=parts[2])
    if len(parts) == 1 and path in _CLIENT_MODULES:
        return ImportedModule("client", name=path)
    if text in NODE_MODULES:
        return ImportedModule("builtin", name=f"node:{text}")
    if text.startswith("."):  # models name folders of their own: `./browser-code`, `./gh-code/issues`
        return ImportedModule("server", server=parts[0])
    return ImportedModule("unknown", name=text)


NODE_MODULES = frozenset(
    "assert buffer crypto events fs fs/promises os path process querystring stream string_decoder timers timers/promises url "
    "util zlib".split()
)
"""Modules of Node that Deno has itself."""


def read_import(node: Node) -> ImportStatement | None:
    """Reads an ``import_statement``; None for one without a module, which is a mistake."""
    source = node.child_by_field_name("source")
    if source is None:
        return None
    clause = next((child for child in node.children if child.type == "import_clause"), None)
    is_type = any(child.type == "type" for child in node.children)
    bindings = tuple(_read_bindings(clause)) if clause is not None else ()
    return ImportStatement(node, resolve_module(read_string(source)), bindings, is_type)


def _read_bindings(clause: Node) -> list[ImportedBinding]:
    found: list[ImportedBinding] = []
    for child in clause.named_children:
        if child.type == "identifier":
            found.append(ImportedBinding("default", read_text(child)))
        elif child.type == "namespace_import":
            found.append(ImportedBinding("*", read_text(child.named_children[-1])))
        elif child.type == "named_imports":
            found += [_read_specifier(each) for each in child.named_children if each.type == "import_specifier"]
    return found


def _read_specifier(node: Node) -> ImportedBinding:
    name = node.child_by_field_name("name")
    alias = node.child_by_field_name("alias")
    text = read_text(name) if name is not None else ""
    return ImportedBinding(text, read_text(alias) if alias is not None else text)
