"""Checks the arguments of one call in a program against its tool's signature: unknown, missing and wrongly typed ones."""

import ast
from collections.abc import Iterator, Mapping, Set

from msgspec import Struct

from gristmill.fitting_values import NoFit, convert_to_kind
from gristmill.guard.program.known_tools import KnownParameter, KnownSignature
from gristmill.guard.program.literal_schemas import detect_literal_kind, kind_fits, list_enum_values, list_fitting_kinds
from gristmill.guard.program.program_problems import join_names
from gristmill.loose_names import fold_name
from gristmill.near_names import find_near_name

WRAPPING_NAMES = frozenset("arguments args params parameters input kwargs tool_input tool_args".split())
"""Names under which programs pass all arguments in one dictionary."""


class ArgumentFlaw(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a call. ``by_python`` when Python itself refuses the call, before it leaves the program."""

    node: ast.expr
    message: str
    fix: str
    by_python: bool
    refused: bool = True
    """False when the server may accept the call in spite of the flaw."""


def find_function_flaws(tool: str, call: ast.Call, signature: KnownSignature) -> Iterator[ArgumentFlaw]:
    """Yields the flaws of ``crm.find(...)``, a call of the typed module's function with Python's argument names."""
    known = {each.python: each for each in signature.parameters}
    if _may_be_all_arguments(call, signature):
        if call.args and isinstance(call.args[0], ast.Dict):
            yield from find_named_call_flaws(tool, call, signature, start=0)
        return
    call = _spell_keywords(call, known)
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    if len(call.args) > len(known) and not starred:
        yield ArgumentFlaw(
            node=call, message=f"{tool} takes {len(known)} arguments, not {len(call.args)}",
            fix=f"it takes {join_names(known)}", by_python=True,
        )  # fmt: skip
    by_place = [] if starred else list(zip(signature.parameters, call.args, strict=False))
    given = {each.python for each, _ in by_place}
    for keyword in call.keywords:
        if keyword.arg in given:
            yield ArgumentFlaw(
                node=keyword.value, message=f"{tool} gets {keyword.arg} twice, by position and by name",
                fix="pass it once", by_python=True,
            )  # fmt: skip
        elif keyword.arg is not None and keyword.arg not in known and not signature.open:
            yield _build_unknown_flaw(tool, keyword.arg, keyword.value, signature, by_python=True)
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if not starred and not any(keyword.arg is None for keyword in call.keywords):
        yield from _find_missing(tool, call, signature, given | named.keys(), by_python=True)
    yield from _find_wrong_literals(tool, [*by_place, *((known[name], value) for name, value in named.items() if name in known)])


def find_named_call_flaws(tool: str, call: ast.Call, signature: KnownSignature, *, start: int = 1) -> Iterator[ArgumentFlaw]:
    """Yields the flaws of ``call_mcp_tool("crm.find", {...})``, a call with the server's own argument names.

    ``start`` is the place of the dictionary among the positional arguments.
    """
    known = {each.name: each for each in signature.parameters}
    given = _read_given_arguments(call, start)
    if given is None:
        return
    given = {_spell_name(name, known): value for name, value in given.items()}
    for name, value in given.items():
        if name not in known and not signature.open:
            yield _build_unknown_flaw(tool, name, value, signature, by_python=False)
    yield from _find_missing(tool, call, signature, given.keys(), by_python=False)
    yield from _find_wrong_literals(tool, [(known[name], value) for name, value in given.items() if name in known])


def _may_be_all_arguments(call: ast.Call, signature: KnownSignature) -> bool:
    """Returns whether the only argument may be a dictionary of all of them, as the runtime decides it."""
    if not call.args and len(call.keywords) == 1:
        name = call.keywords[0].arg
        return name in WRAPPING_NAMES and all(name not in (each.python, each.name) for each in signature.parameters)
    if len(call.args) != 1 or call.keywords or not signature.parameters:
        return False
    only, first = call.args[0], signature.parameters[0]
    kinds = list_fitting_kinds(first.schema)
    fits_first = kinds is None or "object" in kinds
    needed = {fold_name(each.name) for each in signature.parameters if each.required} | {fold_name(first.name)}
    if not isinstance(only, ast.Dict):
        is_open = isinstance(only, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.Await)
        return is_open and (not fits_first or len(needed) > 1)
    keys = {fold_name(str(key.value)) if isinstance(key, ast.Constant) else "" for key in only.keys}
    return not fits_first or needed <= keys <= {fold_name(each.name) for each in signature.parameters}


def _spell_name(name: str, known: Mapping[str, KnownParameter]) -> str:
    """Returns the known name that ``name`` is another spelling of, or ``name``."""
    if name in known:
        return name
    same = [each for each in known if fold_name(each) == fold_name(name)]
    return same[0] if len(same) == 1 else name


def _spell_keywords(call: ast.Call, known: Mapping[str, KnownParameter]) -> ast.Call:
    """Returns the call with its keywords as the typed function spells them."""
    if all(keyword.arg is None or keyword.arg in known for keyword in call.keywords):
        return call
    keywords = [
        ast.copy_location(ast.keyword(_spell_name(keyword.arg, known), keyword.value), keyword) if keyword.arg else keyword
        for keyword in call.keywords
    ]
    return ast.copy_location(ast.Call(call.func, call.args, keywords), call)


def _read_given_arguments(call: ast.Call, start: int) -> dict[str, ast.expr] | None:
    """Returns the arguments by name; None when not all of them are written out in the code."""
    found: dict[str, ast.expr] = {}
    written = call.args[start] if len(call.args) > start else None
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
    if len(found) == 1 and not WRAPPING_NAMES.isdisjoint(found):
        return None  # all arguments in one dictionary, unless the tool has an argument of that name
    return found


def _build_unknown_flaw(tool: str, name: str, node: ast.expr, signature: KnownSignature, *, by_python: bool) -> ArgumentFlaw:
    names = [each.python if by_python else each.name for each in signature.parameters]
    meant = next((each.python for each in signature.parameters if each.name == name), None) or find_near_name(name, names)
    fix = f"write {meant!r}" if meant else f"it takes {join_names(names)}"
    return ArgumentFlaw(
        node=node, message=f"{tool} has no argument {name!r}", fix=fix, by_python=by_python, refused=by_python or signature.closed
    )  # fmt: skip


def _find_missing(
    tool: str, call: ast.Call, signature: KnownSignature, given: Set[str], *, by_python: bool
) -> Iterator[ArgumentFlaw]:
    needed = [each.python if by_python else each.name for each in signature.parameters if each.required]
    if absent := [name for name in needed if name not in given]:
        yield ArgumentFlaw(
            node=call, message=f"{tool} needs {join_names(absent)}", fix=f"add {join_names(absent)}", by_python=by_python
        )


def _find_wrong_literals(tool: str, pairs: list[tuple[KnownParameter, ast.expr]]) -> Iterator[ArgumentFlaw]:
    for parameter, node in pairs:
        allowed, kind, only = list_fitting_kinds(parameter.schema), detect_literal_kind(node), list_enum_values(parameter.schema)
        if kind is not None and allowed is not None and not kind_fits(kind, allowed):
            if _is_converted(parameter, node, kind, allowed):
                continue
            wanted = " or ".join(sorted(allowed))
            yield ArgumentFlaw(
                node=node, message=f"{tool}: {parameter.name} is {kind}, not {wanted}", fix=f"pass {wanted}", by_python=False
            )  # fmt: skip
        elif only and isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in only:
            meant = find_near_name(node.value, (each for each in only if isinstance(each, str)))
            fix = f"write {meant!r}" if meant else f"it is one of {join_names(map(repr, only))}"
            yield ArgumentFlaw(
                node=node, message=f"{tool}: {parameter.name} cannot be {node.value[:60]!r}", fix=fix, by_python=False
            )


def _is_converted(parameter: KnownParameter, node: ast.expr, kind: str, allowed: Set[str]) -> bool:
    """Tells whether the call converts this literal, so that it is no mistake."""
    if kind == "null":
        return not parameter.required
    if isinstance(node, ast.JoinedStr):
        return bool(allowed - {"null"})  # what the text says is known only when the program runs
    if not isinstance(node, ast.Constant):
        return "array" in allowed and kind == "object"
    return any(_can_convert(node.value, wanted) for wanted in allowed)


def _can_convert(value: object, kind: str) -> bool:
    try:
        convert_to_kind(value, kind)
    except NoFit:
        return False
    return True
