"""Checks the operator's own rules for code (allowed modules, denied names). Off by default; the sandbox protects the host."""

import ast
from collections.abc import Iterator

from gristmill.config.sections.guard_section import GuardConfig
from gristmill.errors import CodeRefused
from gristmill.guard.program.check_program import GUEST_MODULES, parse_program
from gristmill.guard.program.program_problems import ProgramProblem, build_refusal, join_names

MOST_CHARS = 200_000
MOST_SHOWN = 50
DYNAMIC_NAMES = frozenset({"__import__", "__builtins__", "__loader__", "__spec__", "eval", "exec", "compile"})
"""Names that are denied when modules are restricted, because they can import any module."""


def check_house_rules(code: str, rules: GuardConfig) -> None:
    """Refuses code that breaks ``rules``, and names every line that does.

    Raises:
        CodeRefused: the code uses a module or a name that is not allowed, or it cannot be parsed for the check.
    """
    if rules.allowed_modules is None and not rules.denied_names:
        return
    if len(code) > MOST_CHARS:
        raise CodeRefused(f"with house rules code has at most {MOST_CHARS:,} characters, not {len(code):,}", rule="guard.size")
    try:
        found = tuple(_find_violations(parse_program(code), rules))
    except SyntaxError:
        return  # it cannot run, and running it says where the error is
    except (ValueError, RecursionError, MemoryError):
        raise CodeRefused("the code is nested too deep to be checked against the house rules", rule="guard.size") from None
    if refused := build_refusal(sorted(found, key=lambda each: (each.line, each.column))[:MOST_SHOWN], rule="guard.house_rules"):
        raise refused


def _find_violations(tree: ast.Module, rules: GuardConfig) -> Iterator[ProgramProblem]:
    denied = frozenset(rules.denied_names)
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _check_import(node, alias.name, (), rules, denied)
            case ast.ImportFrom():
                names = tuple(alias.name for alias in node.names)
                yield from _check_import(node, "." * node.level + (node.module or ""), names, rules, denied)
            case ast.Name() if node.id in denied or (rules.allowed_modules is not None and node.id in DYNAMIC_NAMES):
                yield _build_denied(node, node.id)
            case ast.Attribute() if node.attr in denied:
                yield _build_denied(node, node.attr)
            case _:
                pass


def _check_import(
    node: ast.Import | ast.ImportFrom, module: str, names: tuple[str, ...], rules: GuardConfig, denied: frozenset[str]
) -> Iterator[ProgramProblem]:
    for name in (*module.split("."), *names):
        if name in denied:
            yield _build_denied(node, name)
    allowed = rules.allowed_modules
    whole = (module, *(f"{module}.{name}" for name in names))
    if (
        allowed is None
        or any(_is_allowed(allowed, each) for each in whole[:1])
        or (names and all(_is_allowed(allowed, w) for w in whole[1:]))
    ):
        return
    yield ProgramProblem(
        line=node.lineno,
        column=node.col_offset + 1,
        message=f"the module {module} is not in guard.allowed_modules",
        fix=f"use {join_names(allowed)}, or have it added",
        certain=True,
    )


def _is_allowed(allowed: tuple[str, ...], module: str) -> bool:
    top = module.partition(".")[0]
    return top in GUEST_MODULES or top == "__future__" or any(module == each or module.startswith(f"{each}.") for each in allowed)


def _build_denied(node: ast.stmt | ast.expr, name: str) -> ProgramProblem:
    return ProgramProblem(
        line=node.lineno,
        column=node.col_offset + 1,
        message=f"the name {name} is denied (guard.denied_names)"
        if name not in DYNAMIC_NAMES
        else f"{name} is denied by the house rules",
        fix="do without it, or have it allowed",
        certain=True,
    )
