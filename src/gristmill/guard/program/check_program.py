"""Checks a program before it runs, and reports every tool, argument and module that does not exist, with line and fix.

Most problems are advice; only one that makes every run fail is certain. The sandbox protects the host; this check only saves
the model a round trip, and servers a job that would end half done.
"""

import ast
import re
import warnings
from collections.abc import Iterator

from gristmill.guard.program.argument_flaws import ArgumentFlaw, find_function_flaws, find_named_call_flaws
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.program_problems import ProgramProblem, join_names
from gristmill.guard.program.read_program import ImportedName, NameUse, ProgramReading, read_program
from gristmill.model import Tool
from gristmill.near_names import find_misspelt_name, find_near_name

MOST_CHARS = 60_000
MOST_PROBLEMS = 20
GUEST_MODULES = frozenset({"servers", "mcp_client", "tool_discovery", "skills", "session"})
"""Modules that Gristmill itself offers to programs."""

_FOLLOWED_MODULES = frozenset({"servers", "mcp_client"})
_PARSE_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_IMPORT_STATEMENT = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t]+import\b|\bimport[ \t]+([^\n;#]+)")

_Target = tuple[str, ...]
"""The thing that a name stands for: the dotted path of a module or of a name in it, in parts."""


def check_program(code: str, known: KnownTools) -> tuple[ProgramProblem, ...]:
    """Returns the problems of ``code`` in the order of its lines; none if it cannot be parsed, since running it says why."""
    if len(code) > MOST_CHARS or not _may_have_problems(code, known):
        return ()
    try:
        reading = read_program(parse_program(code), _FOLLOWED_MODULES)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = sorted(_Check(known, code, reading).find_problems(), key=lambda problem: (problem.line, problem.column))
    return tuple(dict.fromkeys(found))[:MOST_PROBLEMS]


def parse_program(code: str) -> ast.Module:
    """Parses ``code`` in the same way as the guest does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning about '\d' in a string of the program does not belong in Gristmill's log
        tree: ast.Module = compile(code, "<code>", "exec", _PARSE_FLAGS, dont_inherit=True)
    return tree


def _may_have_problems(code: str, known: KnownTools) -> bool:
    if "servers" in code or "mcp_client" in code:
        return True
    tops = {
        part.split()[0].partition(".")[0]
        for found in _IMPORT_STATEMENT.finditer(code)
        for part in (found[1] or found[2]).split(",")
        if part.split()
    }
    return not all(top in GUEST_MODULES or known.has_module(top) for top in tops)


class _Check:
    def __init__(self, known: KnownTools, code: str, reading: ProgramReading) -> None:
        self._known, self._reading = known, reading
        # The guest uses the same test: only a program without `await` and asyncio waits for each call before it goes on.
        self._waits_for_calls = "await" not in code and "asyncio" not in code
        self._targets: dict[str, set[_Target]] = {}

    def find_problems(self) -> Iterator[ProgramProblem]:
        nothing_ran_before = True
        for imported in self._reading.imports:
            nothing_ran_before = nothing_ran_before and imported.nothing_ran_before
            yield from self._check_import(imported, nothing_ran_before)
            nothing_ran_before = nothing_ran_before and imported.module.partition(".")[0] not in self._known.workspace()
        for use in self._reading.uses:
            targets = self._targets.get(use.base, ())
            for target in targets:
                sure = use.sure and len(targets) == 1 and use.base not in self._reading.rebound
                yield from self._check_use((*target, *use.parts), use, sure)

    def _build_problem(self, node: ast.stmt | ast.expr, message: str, fix: str, *, certain: bool) -> ProgramProblem:
        certain = certain and not self._reading.unpredictable
        return ProgramProblem(line=node.lineno, column=node.col_offset + 1, message=message, fix=fix, certain=certain)

    # -- imports --------------------------------------------------------------------------------------------------------

    def _check_import(self, imported: ImportedName, nothing_ran_before: bool) -> Iterator[ProgramProblem]:
        path = imported.module.split(".")
        if path[0] in _FOLLOWED_MODULES:
            whole = (*path, imported.name) if imported.name is not None else tuple(path)
            is_renamed = imported.name is not None or imported.bound != path[0]
            self._targets.setdefault(imported.bound, set()).add(whole if is_renamed else (path[0],))
            if not imported.failure_caught:
                yield from self._check_path(whole, imported.node, imported.sure and self._is_typed)
        elif path[0] and path[0] not in GUEST_MODULES and not imported.failure_caught and not self._known.has_module(path[0]):
            meant = self._known.find_near_module(path[0])
            fix = f"write {meant}" if meant else "do without it, or have it added to sandbox.packages"
            message = f"{path[0]} is not installed in the sandbox"
            yield self._build_problem(imported.node, message, fix, certain=imported.sure and nothing_ran_before)

    @property
    def _is_typed(self) -> bool:
        return self._known.typed and bool(self._known.servers)

    def _check_path(self, path: _Target, node: ast.stmt | ast.expr, sure: bool) -> Iterator[ProgramProblem]:
        """Checks that the server and the tool in a path such as ``servers.crm.find`` exist."""
        if path[0] != "servers" or len(path) < 2 or path[1] in self._known.unlisted or path[1].startswith("_") or path[1] == "*":
            return
        server = self._known.find_server(path[1])
        if server is None:
            # The import alone would succeed in the guest, and every call fail: refused before half of the program has run.
            yield self._build_no_server(path[1], node, sure=sure)
        elif len(path) > 2 and server.find_function(path[2]) is None and not path[2].startswith("_") and path[2] != "*":
            yield self._build_no_tool(server, path[2], node, sure)

    def _build_no_server(self, name: str, node: ast.stmt | ast.expr, *, sure: bool) -> ProgramProblem:
        modules = [each.module for each in self._known.servers]
        meant = find_misspelt_name(name, modules)
        fix = f"write {meant}" if meant else f"there are {join_names(modules)}"
        return self._build_problem(node, f"there is no server {name[:80]!r}", fix, certain=sure)

    def _build_no_tool(self, server: KnownServer, name: str, node: ast.stmt | ast.expr, sure: bool) -> ProgramProblem:
        others = [each.module for each in self._known.servers if name in each.tools]
        meant = find_near_name(name, server.tools)
        if others:
            fix = f"{others[0]} has it: from servers.{others[0]} import {name}"
        else:
            fix = f"write {meant}" if meant else f"it has {join_names(server.tools)}"
        return self._build_problem(node, f"{server.module} has no tool {name[:80]!r}", fix, certain=sure)

    # -- uses -----------------------------------------------------------------------------------------------------------

    def _check_use(self, path: _Target, use: NameUse, sure: bool) -> Iterator[ProgramProblem]:
        if path == ("mcp_client", "call_mcp_tool") and use.call is not None:
            yield from self._check_call_by_name(use.call, sure and self._waits_for_calls)
            return
        if use.call is not None and self._names_unknown_server(path):
            yield self._build_no_server(path[1], use.node, sure=sure and self._waits_for_calls)
        elif use.parts:
            yield from self._check_path(path, use.node, sure and self._is_typed)
        # `from servers.crm.find import find` leads to the function as well; deeper names are types.
        is_tool = path[0] == "servers" and (len(path) == 3 or (len(path) == 4 and path[2] == path[3]))
        server = self._known.find_server(path[1]) if is_tool else None
        function = server.find_function(path[2]) if server else None
        if server is not None and function is not None and use.call is not None:
            signature = self._known.find_signature(server.tools[function])
            flaws = find_function_flaws(f"{server.module}.{function}", use.call, signature) if signature else ()
            yield from self._convert_flaws(flaws, signature is not None and signature.plain, sure)

    def _names_unknown_server(self, path: _Target) -> bool:
        if path[0] != "servers" or len(path) < 3 or path[1].startswith("_"):
            return False
        return path[1] not in self._known.unlisted and self._known.find_server(path[1]) is None

    def _check_call_by_name(self, call: ast.Call, sure: bool) -> Iterator[ProgramProblem]:
        first = call.args[0] if call.args else None
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            return
        named, _, name = first.value.partition(".")
        if named in self._known.unlisted or named in ("gristmill", "skills"):
            return
        server = self._known.find_server(named)
        if server is None:
            yield self._build_no_server(named, first, sure=sure)
            return
        tool = _find_tool(server, name)
        if tool is None:
            yield self._build_no_tool(server, name, first, sure and server.complete)
        elif signature := self._known.find_signature(tool):
            yield from self._convert_flaws(find_named_call_flaws(tool.key, call, signature), signature.plain, sure)

    def _convert_flaws(self, flaws: Iterator[ArgumentFlaw] | tuple[()], plain: bool, sure: bool) -> Iterator[ProgramProblem]:
        for flaw in flaws:
            certain = sure and flaw.refused and ((flaw.by_python and self._is_typed) or (plain and self._waits_for_calls))
            yield self._build_problem(flaw.node, flaw.message, flaw.fix, certain=certain)


def _find_tool(server: KnownServer, name: str) -> Tool | None:
    function = server.find_function(name)
    return server.tools[function] if function is not None else None
