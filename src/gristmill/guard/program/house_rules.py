"""House rules for code, for operators who want an allow list on top of the sandbox. Off by default, and never the wall."""

import ast
from collections.abc import Iterator

from gristmill.config.sections.guard_section import GuardConfig
from gristmill.errors import CodeRefused
from gristmill.guard.program.check_program import OURS, parse
from gristmill.guard.program.program_problems import Problem, listing, refusal

MOST_CHARS = 200_000
MOST_SHOWN = 50
DYNAMIC = frozenset({"__import__", "__builtins__", "__loader__", "__spec__", "eval", "exec", "compile"})
"""With a list of modules, names that could import others in passing."""


def check_house_rules(code: str, rules: GuardConfig) -> None:
    """Refuse what ``rules`` forbid, with every line that does.

    Raises:
        CodeRefused: a module or a name that is not allowed, or code that cannot be read to tell.
    """
    if rules.allowed_modules is None and not rules.denied_names:
        return
    if len(code) > MOST_CHARS:
        raise CodeRefused(f"with house rules code has at most {MOST_CHARS:,} characters, not {len(code):,}", rule="guard.size")
    try:
        found = tuple(_violations(parse(code), rules))
    except SyntaxError:
        return  # it cannot run either; running it says where
    except (ValueError, RecursionError, MemoryError):
        raise CodeRefused("the code is nested too deep to be checked against the house rules", rule="guard.size") from None
    if refused := refusal(sorted(found, key=lambda each: (each.line, each.column))[:MOST_SHOWN], rule="guard.house_rules"):
        raise refused


def _violations(tree: ast.Module, rules: GuardConfig) -> Iterator[Problem]:
    denied = frozenset(rules.denied_names)
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _imported(node, alias.name, (), rules, denied)
            case ast.ImportFrom():
                names = tuple(alias.name for alias in node.names)
                yield from _imported(node, "." * node.level + (node.module or ""), names, rules, denied)
            case ast.Name() if node.id in denied or (rules.allowed_modules is not None and node.id in DYNAMIC):
                yield _denied(node, node.id)
            case ast.Attribute() if node.attr in denied:
                yield _denied(node, node.attr)
            case _:
                pass


def _imported(
    node: ast.Import | ast.ImportFrom, module: str, names: tuple[str, ...], rules: GuardConfig, denied: frozenset[str]
) -> Iterator[Problem]:
    for name in (*module.split("."), *names):
        if name in denied:
            yield _denied(node, name)
    allowed = rules.allowed_modules
    whole = (module, *(f"{module}.{name}" for name in names))
    if (
        allowed is None
        or any(_covers(allowed, each) for each in whole[:1])
        or (names and all(_covers(allowed, w) for w in whole[1:]))
    ):
        return
    yield Problem(
        line=node.lineno,
        column=node.col_offset + 1,
        message=f"the module {module} is not in guard.allowed_modules",
        fix=f"use {listing(allowed)}, or have it added",
        certain=True,
    )


def _covers(allowed: tuple[str, ...], module: str) -> bool:
    top = module.partition(".")[0]
    return top in OURS or top == "__future__" or any(module == each or module.startswith(f"{each}.") for each in allowed)


def _denied(node: ast.stmt | ast.expr, name: str) -> Problem:
    return Problem(
        line=node.lineno,
        column=node.col_offset + 1,
        message=f"the name {name} is denied (guard.denied_names)"
        if name not in DYNAMIC
        else f"{name} is denied by the house rules",
        fix="do without it, or have it allowed",
        certain=True,
    )
