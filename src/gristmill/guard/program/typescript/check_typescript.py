"""Checks the tool calls of a program in TypeScript before it runs: tools and arguments that do not exist, with line and fix."""

import re

from tree_sitter import Node

from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.program_problems import ProgramProblem, join_names
from gristmill.guard.program.typescript.parse_typescript import parse_typescript, read_string, read_text, walk_nodes
from gristmill.guard.program.typescript.tool_imports import CLIENT_FUNCTIONS, read_import
from gristmill.model import Tool
from gristmill.near_names import find_near_name

MOST_BYTES = 200_000
MOST_PROBLEMS = 20
_HOLDERS = frozenset({"servers", "tools", "mcp", "codemode"})
_CALLERS = frozenset({"callTool", "callMCPTool", "callMcpTool", "call_tool", "call_mcp_tool"})
_WORD_BREAKS = re.compile(r"[^a-z0-9]")


def check_typescript(code: str, known: KnownTools) -> tuple[ProgramProblem, ...]:
    """Returns the problems of ``code``, in the order of its lines. All are advice: whether a call is reached is not known."""
    source = code.encode("utf-8", "surrogatepass")
    if len(source) > MOST_BYTES or not known.servers:
        return ()
    check = _Check(known)
    root = parse_typescript(source)
    for node in walk_nodes(root):
        if node.type == "import_statement":
            check.read_import(node)
        elif node.type == "call_expression":
            check.read_call(node)
    return tuple(dict.fromkeys(check.problems))[:MOST_PROBLEMS]


class _Check:
    def __init__(self, known: KnownTools) -> None:
        self._known = known
        self._names: dict[str, tuple[str, ...]] = {}  # a name of the program -> (server,) or (server, tool)
        self._callers = set(_CALLERS)
        self.problems: list[ProgramProblem] = []

    def read_import(self, node: Node) -> None:
        """Notes the names that an import makes, and reports tools that it names in vain."""
        read = read_import(node)
        if read is None or read.is_type:
            return
        if read.module.kind == "unknown":
            self._add(
                node, f"there is no module {read.module.name[:80]!r}", "only tools and modules of the runtime can be imported"
            )
        for each in read.bindings:
            if each.name in CLIENT_FUNCTIONS:
                self._callers.add(each.local)
            elif read.module.kind == "server" and each.name in ("*", "default"):
                self._names[each.local] = (read.module.server,)
            elif read.module.kind == "server":
                self._names[each.local] = (read.module.server, each.name)
                self._find_tool(node, read.module.server, each.name)
            elif read.module.kind == "tool":
                self._names[each.local] = (read.module.server, read.module.tool)
                self._find_tool(node, read.module.server, read.module.tool)

    def read_call(self, node: Node) -> None:
        """Checks one call, if it calls a tool."""
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None or arguments.type != "arguments":
            return
        given = [child for child in arguments.named_children if child.type != "comment"]
        if function.type == "identifier" and read_text(function) in self._callers:
            self._check_named_call(node, given)
            return
        target = self._resolve_target(function)
        if target is None:
            return
        tool = self._find_tool(function, *target)
        if tool is not None:
            self._check_arguments(tool, node, given)

    def _check_named_call(self, node: Node, given: list[Node]) -> None:
        if not given or given[0].type != "string":
            return
        server, dot, name = read_string(given[0]).removeprefix("mcp__").replace("__", ".", 1).partition(".")
        if not dot or server in ("gristmill", "skills"):
            return
        tool = self._find_tool(given[0], server, name)
        if tool is not None:
            self._check_arguments(tool, node, given[1:])

    def _resolve_target(self, function: Node) -> tuple[str, str] | None:
        """Returns the server and the tool that an expression such as ``servers.pam.get_expenses`` names."""
        if function.type == "identifier":
            found = self._names.get(read_text(function), ())
            return (found[0], found[1]) if len(found) == 2 else None
        path = _read_path(function)
        if path is None or len(path) < 2:
            return None
        if path[0] in _HOLDERS and path[0] not in self._names:
            return (path[1], path[2]) if len(path) == 3 else None
        base = self._names.get(path[0])
        if base is None and self._known.find_server(path[0]) is not None:
            base = (path[0],)
        return (base[0], path[1]) if base is not None and len(base) == 1 and len(path) == 2 else None

    def _find_tool(self, node: Node, server: str, name: str) -> Tool | None:
        if server in self._known.unlisted:
            return None
        found = self._find_server(server)
        if found is None:
            modules = [each.module for each in self._known.servers]
            meant = find_near_name(server, modules)
            fix = f"write {meant}" if meant else f"there are {join_names(modules)}"
            self._add(node, f"there is no server {server[:80]!r}", fix)
            return None
        function = found.find_function(name) or _find_alike(name, found)
        if function is None and found.complete:
            meant = find_near_name(name, found.tools)
            fix = f"write {meant}" if meant else f"it has {join_names(found.tools)}"
            self._add(node, f"{found.module} has no tool {name[:80]!r}", fix)
        return found.tools[function] if function is not None else None

    def _find_server(self, name: str) -> KnownServer | None:
        exact = self._known.find_server(name)
        return exact or next((each for each in self._known.servers if _fold(each.module) == _fold(name)), None)

    def _check_arguments(self, tool: Tool, node: Node, given: list[Node]) -> None:
        signature = self._known.find_signature(tool)
        if signature is None or len(given) > 1 or (given and given[0].type != "object"):
            return
        keys: dict[str, Node] = {}
        for child in given[0].named_children if given else ():
            if child.type == "comment":
                continue
            key = child if child.type == "shorthand_property_identifier" else child.child_by_field_name("key")
            if key is None or key.type == "computed_property_name":
                return  # `...rest` or a computed key: the names are not known
            keys[read_string(key) if key.type == "string" else read_text(key)] = key
        names = {_fold(each.name): each for each in signature.parameters}
        for name, key in keys.items():
            if _fold(name) not in names and not signature.open:
                listed = [each.name for each in signature.parameters]
                meant = find_near_name(name, listed)
                self._add(
                    key,
                    f"{tool.key} has no argument {name[:80]!r}",
                    f"write {meant}" if meant else f"it takes {join_names(listed)}",
                )
        folded = {_fold(name) for name in keys}
        missing = [each.name for each in signature.parameters if each.required and _fold(each.name) not in folded]
        if missing:
            self._add(node, f"{tool.key} needs {join_names(missing)}", f"add {join_names(missing)}")

    def _add(self, node: Node, message: str, fix: str) -> None:
        line, column = node.start_point.row + 1, node.start_point.column + 1
        self.problems.append(ProgramProblem(line=line, column=column, message=message, fix=fix, certain=False))


def _read_path(node: Node) -> list[str] | None:
    parts: list[str] = []
    while node.type == "member_expression":
        inner, name = node.child_by_field_name("object"), node.child_by_field_name("property")
        if inner is None or name is None:
            return None
        parts.append(read_text(name))
        node = inner
    return [read_text(node), *reversed(parts)] if node.type == "identifier" else None


def _find_alike(name: str, server: KnownServer) -> str | None:
    """Returns the function whose name differs in case, hyphens and underscores only: models write ``getExpenses``."""
    return next((function for function in server.tools if _fold(function) == _fold(name)), None)


def _fold(name: str) -> str:
    return _WORD_BREAKS.sub("", name.lower())
