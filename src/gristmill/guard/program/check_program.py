"""A program before it runs: tools, arguments and modules that do not exist, all at once, with line and fix. Advice, mostly.

Only what no run can survive is certain. The sandbox is the wall; this saves a model a round trip and a server half a job.
"""

import ast
import re
import warnings
from collections.abc import Iterator

from gristmill.guard.program.argument_flaws import Flaw, function_flaws, named_flaws
from gristmill.guard.program.known_tools import Known, KnownServer
from gristmill.guard.program.program_problems import Problem, listing, near
from gristmill.guard.program.read_program import Imported, Reading, Use, read_program
from gristmill.model import Tool

MOST_CHARS = 60_000
MOST_PROBLEMS = 20
OURS = frozenset({"servers", "mcp_client", "tool_discovery", "skills", "session"})
"""Modules that the guest itself offers."""

_FOLLOWED = frozenset({"servers", "mcp_client"})
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_IMPORTS = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t]+import\b|\bimport[ \t]+([^\n;#]+)")

_Target = tuple[str, ...]
"""What a name stands for: the dotted path of a module and what is in it."""


def check_program(code: str, known: Known) -> tuple[Problem, ...]:
    """What is wrong with ``code``, in the order of its lines; nothing for what cannot be parsed: running it says why."""
    if len(code) > MOST_CHARS or not _worth_reading(code, known):
        return ()
    try:
        reading = read_program(parse(code), _FOLLOWED)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = sorted(_Check(known, code, reading).problems(), key=lambda problem: (problem.line, problem.column))
    return tuple(dict.fromkeys(found))[:MOST_PROBLEMS]


def parse(code: str) -> ast.Module:
    """The tree of ``code``, as the guest reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # '\d' in a string is the author's business, not our log's
        tree: ast.Module = compile(code, "<code>", "exec", _FLAGS, dont_inherit=True)
    return tree


def _worth_reading(code: str, known: Known) -> bool:
    if "servers" in code or "mcp_client" in code:
        return True
    tops = {
        part.split()[0].partition(".")[0]
        for found in _IMPORTS.finditer(code)
        for part in (found[1] or found[2]).split(",")
        if part.split()
    }
    return not all(top in OURS or known.has_module(top) for top in tops)


class _Check:
    def __init__(self, known: Known, code: str, reading: Reading) -> None:
        self._known, self._reading = known, reading
        # The guest decides in the same way whether calls may be under way while the program goes on to catch their failure.
        self._waits = "await" not in code and "asyncio" not in code
        self._targets: dict[str, set[_Target]] = {}

    def problems(self) -> Iterator[Problem]:
        calm = True
        for imported in self._reading.imports:
            calm = calm and imported.calm
            yield from self._module(imported, calm)
            calm = calm and imported.module.partition(".")[0] not in self._known.workspace()
        for use in self._reading.uses:
            targets = self._targets.get(use.base, ())
            for target in targets:
                sure = use.sure and len(targets) == 1 and use.base not in self._reading.rebound
                yield from self._used((*target, *use.parts), use, sure)

    def _problem(self, node: ast.stmt | ast.expr, message: str, fix: str, *, certain: bool) -> Problem:
        certain = certain and not self._reading.loose
        return Problem(line=node.lineno, column=node.col_offset + 1, message=message, fix=fix, certain=certain)

    # -- imports --------------------------------------------------------------------------------------------------------

    def _module(self, imported: Imported, calm: bool) -> Iterator[Problem]:
        path = imported.module.split(".")
        if path[0] in _FOLLOWED:
            whole = (*path, imported.name) if imported.name is not None else tuple(path)
            is_renamed = imported.name is not None or imported.bound != path[0]
            self._targets.setdefault(imported.bound, set()).add(whole if is_renamed else (path[0],))
            if not imported.forgiven:
                yield from self._path(whole, imported.node, imported.sure and self._is_typed)
        elif path[0] and path[0] not in OURS and not imported.forgiven and not self._known.has_module(path[0]):
            meant = self._known.near_module(path[0])
            fix = f"write {meant}" if meant else "do without it, or have it added to sandbox.packages"
            message = f"{path[0]} is not installed in the sandbox"
            yield self._problem(imported.node, message, fix, certain=imported.sure and calm)

    @property
    def _is_typed(self) -> bool:
        return self._known.typed and bool(self._known.servers)

    def _path(self, path: _Target, node: ast.stmt | ast.expr, sure: bool) -> Iterator[Problem]:
        """``servers.crm.find`` as far as it goes."""
        if path[0] != "servers" or len(path) < 2 or path[1] in self._known.unlisted or path[1].startswith("_") or path[1] == "*":
            return
        server = self._known.server(path[1])
        if server is None:
            yield self._no_server(path[1], node, sure=False)  # the guest imports any server; only a call of it fails
        elif len(path) > 2 and server.function(path[2]) is None and not path[2].startswith("_") and path[2] != "*":
            yield self._no_tool(server, path[2], node, sure)

    def _no_server(self, name: str, node: ast.stmt | ast.expr, *, sure: bool) -> Problem:
        modules = [each.module for each in self._known.servers]
        meant = near(name, modules)
        fix = f"write {meant}" if meant else f"there are {listing(modules)}"
        return self._problem(node, f"there is no server {name[:80]!r}", fix, certain=sure)

    def _no_tool(self, server: KnownServer, name: str, node: ast.stmt | ast.expr, sure: bool) -> Problem:
        others = [each.module for each in self._known.servers if name in each.tools]
        meant = near(name, server.tools)
        if others:
            fix = f"{others[0]} has it: from servers.{others[0]} import {name}"
        else:
            fix = f"write {meant}" if meant else f"it has {listing(server.tools)}"
        return self._problem(node, f"{server.module} has no tool {name[:80]!r}", fix, certain=sure)

    # -- uses -----------------------------------------------------------------------------------------------------------

    def _used(self, path: _Target, use: Use, sure: bool) -> Iterator[Problem]:
        if path == ("mcp_client", "call_mcp_tool") and use.call is not None:
            yield from self._called_by_name(use.call, sure and self._waits)
            return
        if use.call is not None and self._leads_nowhere(path):
            yield self._no_server(path[1], use.node, sure=sure and self._waits)
        elif use.parts:
            yield from self._path(path, use.node, sure and self._is_typed)
        # `from servers.crm.find import find` leads to the function as well; deeper names are types.
        is_tool = path[0] == "servers" and (len(path) == 3 or (len(path) == 4 and path[2] == path[3]))
        server = self._known.server(path[1]) if is_tool else None
        function = server.function(path[2]) if server else None
        if server is not None and function is not None and use.call is not None:
            signature = self._known.signature(server.tools[function])
            flaws = function_flaws(f"{server.module}.{function}", use.call, signature) if signature else ()
            yield from self._flawed(flaws, signature is not None and signature.plain, sure)

    def _leads_nowhere(self, path: _Target) -> bool:
        if path[0] != "servers" or len(path) < 3 or path[1].startswith("_"):
            return False
        return path[1] not in self._known.unlisted and self._known.server(path[1]) is None

    def _called_by_name(self, call: ast.Call, sure: bool) -> Iterator[Problem]:
        first = call.args[0] if call.args else None
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            return
        named, _, name = first.value.partition(".")
        if named in self._known.unlisted or named in ("gristmill", "skills"):
            return
        server = self._known.server(named)
        if server is None:
            yield self._no_server(named, first, sure=sure)
            return
        tool = _by_either_name(server, name)
        if tool is None:
            yield self._no_tool(server, name, first, sure and server.complete)
        elif signature := self._known.signature(tool):
            yield from self._flawed(named_flaws(tool.key, call, signature), signature.plain, sure)

    def _flawed(self, flaws: Iterator[Flaw] | tuple[()], plain: bool, sure: bool) -> Iterator[Problem]:
        for flaw in flaws:
            certain = sure and flaw.refused and ((flaw.at_once and self._is_typed) or (plain and self._waits))
            yield self._problem(flaw.node, flaw.message, flaw.fix, certain=certain)


def _by_either_name(server: KnownServer, name: str) -> Tool | None:
    function = server.function(name)
    return server.tools[function] if function is not None else None
