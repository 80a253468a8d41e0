"""What can be written next in the shell: servers, their tools, names of this session, Python's own words. Pure; runs no code."""

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
class Names:
    """What the session knows: modules of servers with their functions, and its own names, each with the server it stands for."""

    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    bound: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def learn(self, code: str) -> None:
        """Take note of the names that ``code`` makes and deletes at its top level."""
        try:
            statements = ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError):
            return
        for statement in statements:
            for name, server in _bound(statement):
                self.bound[name] = server
            if isinstance(statement, ast.Delete):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.bound.pop(target.id, None)


def completions(line: str, word: str, names: Names) -> list[str]:
    """What ``word``, the last of ``line``, may become; in order, each whole."""
    return sorted(choice for choice in _choices(line, word, names) if choice.startswith(word))


def _choices(line: str, word: str, names: Names) -> Iterator[str]:
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


def _bound(statement: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name, None
        return  # what is inside is its own
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
            yield from _bound(child)
