"""Checks a program before it runs, and reports every tool, argument and module that does not exist, with line and fix.

Most problems are advice; only one that makes every run fail is certain. The sandbox protects the host; this check only saves
the model a round trip, and servers a job that would end half done.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gristmill.guard.program.argument_flaws import ArgumentFlaw, find_function_flaws, find_named_call_flaws
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.program_problems import ProgramProblem, join_names
from gristmill.guard.program.read_program import ImportedName, NameUse, ProgramReading, read_program
from gristmill.guard.program.undefined_names import BUILTINS, FILES, NAMESPACES, WORDS, NameMeanings, mentions_tool_files
from gristmill.loose_names import fold_name
from gristmill.model import Tool
from gristmill.near_names import find_misspelt_name, find_near_name

MOST_CHARS = 60_000
MOST_PROBLEMS = 20
GUEST_MODULES = frozenset({"servers", "mcp_client", "tool_discovery", "skills", "session"})
"""Modules that Gristmill itself offers to programs."""

_CLIENT_MODULES = frozenset({"mcp_client", "tool_discovery", "client", "mcp_tools"})
_OTHER_MODULES = frozenset({"client", "mcp_tools", *NAMESPACES}) - {"servers"}
"""Modules that exist for programs unless the sandbox has a real one of that name."""
_FOLLOWED_MODULES = frozenset({"servers", *_CLIENT_MODULES, *_OTHER_MODULES})
_PARSE_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_IMPORT_STATEMENT = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t]+import\b|\bimport[ \t]+([^\n;#]+)")

_Target = tuple[str, ...]
"""The thing that a name stands for: the dotted path of a module or of a name in it, in parts."""


class CheckedProgram(Struct, frozen=True, kw_only=True):
    """What was found in a program before it runs."""

    problems: tuple[ProgramProblem, ...] = ()
    names: Mapping[str, str] = {}
    """Names that it uses and does not define, with what they mean; see ``undefined_names.py``."""


def check_program(
    code: str, known: KnownTools, meanings: NameMeanings | None = None, *, fresh: bool = True
) -> tuple[ProgramProblem, ...]:
    """Returns the problems of ``code`` in the order of its lines; none if it cannot be parsed, since running it says why."""
    return read_and_check(code, known, meanings, fresh=fresh).problems


def read_and_check(code: str, known: KnownTools, meanings: NameMeanings | None = None, *, fresh: bool = True) -> CheckedProgram:
    """Returns the problems of ``code`` and the meanings of names that it does not define.

    ``fresh`` is false in a session, whose earlier programs may have defined them.
    """
    if len(code) > MOST_CHARS:
        return CheckedProgram()
    candidates = meanings.list_candidates(code) if meanings else {}
    if not candidates and not _may_have_problems(code, known):
        return CheckedProgram()
    modules = {name for name, meaning in candidates.items() if meaning[:7] == "server:"}
    try:
        reading = read_program(parse_program(code), _FOLLOWED_MODULES | modules if modules else _FOLLOWED_MODULES, candidates)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CheckedProgram()
    names = {name: candidates[name] for name in reading.used - reading.defined - BUILTINS}
    check = _Check(known, code, reading, _LazyNames(meanings=meanings, names=names, fresh=fresh))
    found = sorted(check.find_problems(), key=lambda problem: (problem.line, problem.column))
    if mentions_tool_files(code):
        names[""] = FILES
    return CheckedProgram(problems=tuple(dict.fromkeys(found))[:MOST_PROBLEMS], names=names)


class _LazyNames(Struct, frozen=True, kw_only=True):
    """The names that a program does not define."""

    meanings: NameMeanings | None
    names: dict[str, str]
    fresh: bool


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
    def __init__(self, known: KnownTools, code: str, reading: ProgramReading, lazy: _LazyNames) -> None:
        self._known, self._reading, self._lazy = known, reading, lazy
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
            if use.lazy:
                yield from self._check_lazy_use(use)
                continue
            targets = self._targets.get(use.base, ())
            for target in targets:
                sure = use.sure and len(targets) == 1 and use.base not in self._reading.rebound
                yield from self._check_use((*target, *use.parts), use, sure)

    def _build_problem(self, node: ast.stmt | ast.expr, message: str, fix: str, *, certain: bool) -> ProgramProblem:
        certain = certain and not self._reading.unpredictable
        return ProgramProblem(line=node.lineno, column=node.col_offset + 1, message=message, fix=fix, certain=certain)

    # -- imports --------------------------------------------------------------------------------------------------------

    def _check_import(self, imported: ImportedName, nothing_ran_before: bool) -> Iterator[ProgramProblem]:
        path = self._find_real_path(imported)
        top_name = imported.module.partition(".")[0]
        if path[0] != top_name and top_name not in GUEST_MODULES and not (nothing_ran_before and self._lazy.fresh):
            return  # code that ran before may have made a module of that name
        if imported.name == "*" and path[0] == "servers":
            self._use_all_tools(path)
        if path[0] in ("servers", "mcp_client"):
            whole = (*path, imported.name) if imported.name is not None else tuple(path)
            if len(whole) == 2 and whole[0] == "servers" and self._known.find_server(whole[1]) is None:
                found = self._find_tool_loosely(whole[1])  # from servers import get_expenses
                whole = ("servers", found[0].module, found[1]) if found else whole
            is_renamed = imported.name is not None or imported.bound != top_name
            top = tuple(path[: len(path) - imported.module.count(".")])
            self._targets.setdefault(imported.bound, set()).add(whole if is_renamed else top)
            if not imported.failure_caught:
                yield from self._check_path(whole, imported.node, imported.sure and self._is_typed)
        elif path[0] and path[0] not in GUEST_MODULES and not imported.failure_caught and not self._known.has_module(path[0]):
            meant = self._known.find_near_module(path[0])
            fix = f"write {meant}" if meant else "do without it, or have it added to sandbox.packages"
            message = f"{path[0]} is not installed in the sandbox"
            yield self._build_problem(imported.node, message, fix, certain=imported.sure and nothing_ran_before)

    def _find_real_path(self, imported: ImportedName) -> list[str]:
        """Returns the path of an import below ``servers`` or ``mcp_client`` where these have other names."""
        path = imported.module.split(".")
        if path[0] in GUEST_MODULES:
            return ["mcp_client", *path[1:]] if path[0] in _CLIENT_MODULES else path
        server = self._lazy_servers.get(fold_name(path[0]))
        if imported.failure_caught or not (server or path[0] in _OTHER_MODULES):
            return path
        if self._known.importable is not None and self._known.has_module(path[0]):
            return path  # a real module of that name
        name = path[1] if len(path) > 1 else imported.name
        if path[0] in _CLIENT_MODULES:
            found, meaning = ["mcp_client", *path[1:]], "client" if name in (None, "*", "ToolError", *WORDS) else None
        elif path[0] in _OTHER_MODULES:
            is_known = name in (None, "*") or fold_name(str(name)) in self._lazy_servers or self._find_keys(str(name))
            found, meaning = ["servers", *path[1:]], "space" if is_known else None
        else:
            found, meaning = ["servers", *path], f"server:{server}"
        if meaning is None:
            return path
        self._lazy.names[f"import {path[0]}"] = f"module:{meaning}"
        return found

    @property
    def _lazy_servers(self) -> Mapping[str, str]:
        return self._lazy.meanings.servers if self._lazy.meanings else {}

    def _use_all_tools(self, path: list[str]) -> None:
        """Lets names mean tools of the server whose tools are all imported, also where another server has such a tool."""
        server = self._known.find_server(path[1]) if len(path) == 2 else None
        if server is None:
            return
        for name in self._reading.used - self._reading.defined - BUILTINS:
            if (function := server.find_function(name)) is not None:
                self._lazy.names[name] = f"tool:{server.module}.{function}"

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
        if not meant and (found := self._find_tool_loosely(name)):
            fix = f"it is a tool: from servers.{found[0].module} import {found[1]}"
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

    def _check_lazy_use(self, use: NameUse) -> Iterator[ProgramProblem]:
        """Checks a use of a name that the program does not define."""
        meaning = self._lazy.names.get(use.base)
        if meaning is None or self._lazy.meanings is None or use.base in self._reading.rebound:
            return
        kind, _, target = meaning.partition(":")
        sure = use.sure and self._lazy.fresh
        if kind == "word":
            if target == "call_tool" and use.call is not None and not use.parts:
                yield from self._check_call_by_name(use.call, sure and self._waits_for_calls)
        elif kind == "server" or (kind == "tool" and not use.parts):
            yield from self._check_use(("servers", *target.split("."), *use.parts), use, sure)
        elif kind == "space" and use.base == "servers":
            yield from self._check_use(("servers", *use.parts), use, sure)
        elif kind == "space" and use.parts and not use.parts[0].startswith("_"):
            yield from self._check_namespace(use, sure)
        elif kind == "path" and not use.parts and self._lazy.fresh:
            # In a session an earlier program may have bound the name; if none has, the call itself fails with the same words.
            yield from self._check_loose_name(use.base, use.node, sure and use.call is not None and self._waits_for_calls)

    def _check_namespace(self, use: NameUse, sure: bool) -> Iterator[ProgramProblem]:
        """Checks ``tools.pam.get_expenses`` and ``codemode.get_expenses``."""
        server = self._known.find_server(use.parts[0])
        if server is not None or use.parts[0] in self._known.unlisted:
            yield from self._check_use(("servers", *use.parts), use, sure)
            return
        found = self._find_tool_loosely(".".join(use.parts))
        if found is not None and use.call is not None:
            yield from self._check_use(("servers", found[0].module, found[1]), use, sure)
        elif found is None and use.call is not None:
            name = ".".join(use.parts)
            yield from self._check_loose_name(name, use.node, sure and self._waits_for_calls)

    def _find_keys(self, name: str) -> tuple[str, ...]:
        return self._lazy.meanings.loose.find_keys(name) if self._lazy.meanings else ()

    def _find_tool_loosely(self, name: str) -> tuple[KnownServer, str] | None:
        keys = self._find_keys(name)
        server = self._known.find_server(keys[0].partition(".")[0]) if len(keys) == 1 else None
        function = server.find_function(keys[0].partition(".")[2]) if server else None
        return (server, function) if server and function else None

    def _check_loose_name(self, name: str, node: ast.expr, sure: bool) -> Iterator[ProgramProblem]:
        """Reports a name that no tool has, or several."""
        keys = self._find_keys(name)
        if len(keys) == 1 or (not keys and self._known.unlisted):
            return
        if keys:
            message, fix = f"{name[:80]!r} is a tool of several servers", f"write one of {join_names(keys)}"
        else:
            known = [f"{each.module}.{function}" for each in self._known.servers for function in each.tools]
            meant = find_near_name(name.removeprefix("mcp__").replace("__", "."), known)
            message, fix = f"there is no tool {name[:80]!r}", f"write {meant}" if meant else "search_tools finds those there are"
        yield self._build_problem(node, message, fix, certain=sure)

    def _check_use(self, path: _Target, use: NameUse, sure: bool) -> Iterator[ProgramProblem]:
        if path[0] == "mcp_client" and WORDS.get(".".join(path[1:])) == "call_tool" and use.call is not None:
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
        first, written, start = _read_tool_name(call)
        if first is None:
            return
        named, dot, name = written.partition(".")
        if named in self._known.unlisted or named in ("gristmill", "skills"):
            return
        server = self._known.find_server(named)
        tool = _find_tool(server, name) if server else None
        if tool is None and (found := self._find_tool_loosely(written)) is not None:
            server, tool = found[0], found[0].tools[found[1]]
        if tool is not None:
            if signature := self._known.find_signature(tool):
                flaws = find_named_call_flaws(tool.key, call, signature, start=start)
                yield from self._convert_flaws(flaws, signature.plain, sure)
        elif server is not None:
            yield self._build_no_tool(server, name, first, sure and server.complete)
        elif dot or self._lazy.meanings is None:
            yield self._build_no_server(named, first, sure=sure)
        else:
            yield from self._check_loose_name(written, first, sure)

    def _convert_flaws(self, flaws: Iterator[ArgumentFlaw] | tuple[()], plain: bool, sure: bool) -> Iterator[ProgramProblem]:
        for flaw in flaws:
            certain = sure and flaw.refused and ((flaw.by_python and self._is_typed) or (plain and self._waits_for_calls))
            yield self._build_problem(flaw.node, flaw.message, flaw.fix, certain=certain)


def _read_tool_name(call: ast.Call) -> tuple[ast.expr | None, str, int]:
    """Returns the node and the name of the tool in a call by name, and the place of its arguments; no node if it is computed."""
    texts = [each.value for each in call.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not call.args or not isinstance(call.args[0], ast.Constant) or not texts:
        return None, "", 1
    if len(texts) == 2 and not texts[1].lstrip().startswith("{"):
        return call.args[0], f"{texts[0]}.{texts[1]}", 2
    return call.args[0], texts[0], 1


def _find_tool(server: KnownServer, name: str) -> Tool | None:
    function = server.find_function(name)
    return server.tools[function] if function is not None else None
