"""Completes words in the shell: servers, their tools, names of this session, Python's own words. Pure; runs no code."""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

COMMANDS = (":help", ":quit", ":search", ":servers", ":tools")

_FROM_MODULE = re.compile(r"\s*from\s+servers\.(\w+)\s+import\s+.*$")
_FROM = re.compile(r"\s*from\s+servers\s+import\s+.*$")
_MODULE = re.compile(r"\s*(?:from|import)\s+servers\.\w*$")
_SERVER_ARGUMENT = re.compile(r":tools\s+\w*$")
_PYTHON = frozenset({*keyword.kwlist, *(name for name in dir(builtins) if not name.startswith("_"))})


@dataclass(slots=True)
class CompletionNames:
    """The names that can be completed: server modules with their functions, and session names with the server each stands for."""

    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    bound: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def learn(self, code: str) -> None:
        """Records the names that ``code`` binds and deletes at its top level."""
        try:
            statements = ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError):
            return
        for statement in statements:
            for name, server in _find_bound_names(statement):
                self.bound[name] = server
            if isinstance(statement, ast.Delete):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.bound.pop(target.id, None)


def complete_word(line: str, word: str, names: CompletionNames) -> list[str]:
    """Returns all completions of ``word``, the last word of ``line``, sorted."""
    return sorted(choice for choice in _list_choices(line, word, names) if choice.startswith(word))


def _list_choices(line: str, word: str, names: CompletionNames) -> Iterator[str]:
    if line.startswith(":"):
        yield from names.modules if _SERVER_ARGUMENT.match(line) else COMMANDS if line == word else ()
    elif found := _FROM_MODULE.match(line):
        yield from names.modules.get(found[1], ())
    elif _FROM.match(line):
        yield from names.modules
    elif _MODULE.match(line):
        yield from (f"servers.{module}" for module in names.modules)
    elif "." in word:
        owner = word.rpartition(".")[0]
        server = names.bound.get(owner) or (owner.removeprefix("servers.") if owner.startswith("servers.") else None)
        yield from (f"{owner}.{function}" for function in names.modules.get(server or "", ()))
    else:
        yield from {*names.bound, *_PYTHON}


def _find_bound_names(statement: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name, None
        return  # names inside a function or class are local to it
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            server = alias.name.removeprefix("servers.") if alias.name.startswith("servers.") and alias.asname else None
            yield alias.asname or alias.name.partition(".")[0], server
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name, alias.name if statement.module == "servers" else None
    elif isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store):
        yield statement.id, None
    elif not isinstance(statement, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for child in ast.iter_child_nodes(statement):
            yield from _find_bound_names(child)
