"""The arguments of one call in a program against its tool's signature: names, missing ones, literals of the wrong kind."""

import ast
from collections.abc import Iterator, Set

from gristmill.guard.program.known_tools import Parameter, Signature
from gristmill.guard.program.literal_schemas import choices, fits, kinds, literal_kind
from gristmill.guard.program.program_problems import listing, near
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong with a call. ``at_once`` when Python itself refuses it, before the call leaves the program."""

    node: ast.expr
    message: str
    fix: str
    at_once: bool
    refused: bool = True
    """False when the server may accept it all the same."""


def function_flaws(tool: str, call: ast.Call, signature: Signature) -> Iterator[Flaw]:
    """Flaws of ``crm.find(...)``: the typed module's function, with Python's names."""
    known = {each.python: each for each in signature.parameters}
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    if len(call.args) > len(known) and not starred:
        yield Flaw(
            node=call, message=f"{tool} takes {len(known)} arguments, not {len(call.args)}",
            fix=f"it takes {listing(known)}", at_once=True,
        )  # fmt: skip
    by_place = [] if starred else list(zip(signature.parameters, call.args, strict=False))
    given = {each.python for each, _ in by_place}
    for keyword in call.keywords:
        if keyword.arg in given:
            yield Flaw(
                node=keyword.value, message=f"{tool} gets {keyword.arg} twice, by position and by name",
                fix="pass it once", at_once=True,
            )  # fmt: skip
        elif keyword.arg is not None and keyword.arg not in known and not signature.open:
            yield _unknown(tool, keyword.arg, keyword.value, signature, at_once=True)
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if not starred and not any(keyword.arg is None for keyword in call.keywords):
        yield from _missing(tool, call, signature, given | named.keys(), at_once=True)
    yield from _literals(tool, [*by_place, *((known[name], value) for name, value in named.items() if name in known)])


def named_flaws(tool: str, call: ast.Call, signature: Signature) -> Iterator[Flaw]:
    """Flaws of ``call_mcp_tool("crm.find", {...})``: the server's own names."""
    known = {each.name: each for each in signature.parameters}
    given = _given(call)
    if given is None:
        return
    for name, value in given.items():
        if name not in known and not signature.open:
            yield _unknown(tool, name, value, signature, at_once=False)
    yield from _missing(tool, call, signature, given.keys(), at_once=False)
    yield from _literals(tool, [(known[name], value) for name, value in given.items() if name in known])


def _given(call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments by name; None when they cannot all be seen."""
    found: dict[str, ast.expr] = {}
    written = call.args[1] if len(call.args) > 1 else None
    if isinstance(written, ast.Dict):
        for key, value in zip(written.keys, written.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found[key.value] = value
    elif written is not None and not (isinstance(written, ast.Constant) and written.value is None):
        return None
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        found[keyword.arg] = keyword.value
    return found


def _unknown(tool: str, name: str, node: ast.expr, signature: Signature, *, at_once: bool) -> Flaw:
    names = [each.python if at_once else each.name for each in signature.parameters]
    meant = next((each.python for each in signature.parameters if each.name == name), None) or near(name, names)
    fix = f"write {meant!r}" if meant else f"it takes {listing(names)}"
    return Flaw(
        node=node, message=f"{tool} has no argument {name!r}", fix=fix, at_once=at_once, refused=at_once or signature.closed
    )  # fmt: skip


def _missing(tool: str, call: ast.Call, signature: Signature, given: Set[str], *, at_once: bool) -> Iterator[Flaw]:
    needed = [each.python if at_once else each.name for each in signature.parameters if each.required]
    if absent := [name for name in needed if name not in given]:
        yield Flaw(node=call, message=f"{tool} needs {listing(absent)}", fix=f"add {listing(absent)}", at_once=at_once)


def _literals(tool: str, pairs: list[tuple[Parameter, ast.expr]]) -> Iterator[Flaw]:
    for parameter, node in pairs:
        allowed, kind, only = kinds(parameter.schema), literal_kind(node), choices(parameter.schema)
        if kind is not None and allowed is not None and not fits(kind, allowed):
            wanted = " or ".join(sorted(allowed))
            yield Flaw(
                node=node, message=f"{tool}: {parameter.name} is {kind}, not {wanted}", fix=f"pass {wanted}", at_once=False
            )  # fmt: skip
        elif only and isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in only:
            meant = near(node.value, (each for each in only if isinstance(each, str)))
            fix = f"write {meant!r}" if meant else f"it is one of {listing(map(repr, only))}"
            yield Flaw(node=node, message=f"{tool}: {parameter.name} cannot be {node.value[:60]!r}", fix=fix, at_once=False)
