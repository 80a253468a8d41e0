"""Types as values → Python annotations and class definitions, as AST nodes with literals only; no text is pasted."""

import ast
import keyword
import sys
from collections.abc import Sequence, Set
from typing import Any, assert_never

from gristmill.catalog.types.type_tree import Field, ListOf, MapOf, Named, OneOf, Plain, Record, TupleOf, Type, Union

TYPING_NAMES = frozenset({"Any", "Literal", "Never", "NotRequired", "TypedDict"})
# Python 3.12 made this field of class and function nodes mandatory; 3.11 does not know it.
_TYPE_PARAMS: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
_PLAIN = {"any": "Any", "never": "Never", "string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def annotation(kind: Type) -> ast.expr:
    """The annotation for ``kind``, to be written under ``from __future__ import annotations``."""
    match kind:
        case Plain():
            return ast.Constant(None) if kind.name == "null" else name(_PLAIN[kind.name])
        case OneOf():
            return _subscript("Literal", [ast.Constant(value) for value in kind.values])
        case ListOf():
            return _subscript("list", [annotation(kind.item)])
        case TupleOf():
            return _subscript("tuple", [annotation(item) for item in kind.items])
        case MapOf():
            return _subscript("dict", [name("str"), annotation(kind.value)])
        case Union():
            return _either([annotation(member) for member in kind.members])
        case Named():
            return name(kind.name)
        case _:
            assert_never(kind)


def record_classes(records: Sequence[Record]) -> list[ast.stmt]:
    """The ``TypedDict`` of each record; the call form where a key cannot be written as an attribute."""
    ahead = {record.name for record in records}
    written: list[ast.stmt] = []
    for record in records:
        plain = all(_is_attribute(field.name) for field in record.fields)
        written.append(_class_form(record) if plain else _call_form(record, ahead))
        ahead.discard(record.name)
    return written


def name(identifier: str) -> ast.Name:
    """A reference to ``identifier``, which must be one: this is the last gate before a name becomes code."""
    if not identifier.isidentifier() or keyword.iskeyword(identifier):
        raise ValueError(f"{identifier!r} is not a Python name")
    return ast.Name(identifier)


def docstring(text: str) -> ast.Expr:
    """``text`` as a statement."""
    return ast.Expr(ast.Constant(text))


def typing_names(nodes: list[ast.stmt]) -> list[str]:
    """Which names of ``typing`` the statements use, sorted."""
    used = {node.id for statement in nodes for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return sorted(used & TYPING_NAMES)


def _class_form(record: Record) -> ast.ClassDef:
    body: list[ast.stmt] = []
    for field in record.fields:
        body.append(ast.AnnAssign(target=name(field.name), annotation=_entry(field), value=None, simple=1))
        if field.doc:
            body.append(docstring(field.doc))
    return ast.ClassDef(
        name=name(record.name).id,
        bases=[name("TypedDict")],
        keywords=[],
        body=body or [ast.Pass()],
        decorator_list=[],
        **_TYPE_PARAMS,
    )


def _call_form(record: Record, ahead: Set[str]) -> ast.Assign:
    entries = [_entry(field) for field in record.fields]
    # This form is evaluated at import, when a record that refers back does not exist yet.
    entries = [name("Any") if _mentions(entry, ahead) else entry for entry in entries]
    keys: list[ast.expr | None] = [ast.Constant(field.name) for field in record.fields]
    call = ast.Call(func=name("TypedDict"), args=[ast.Constant(record.name), ast.Dict(keys=keys, values=entries)], keywords=[])
    return ast.Assign(targets=[name(record.name)], value=call, lineno=1)


def _mentions(entry: ast.expr, names: Set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(entry))


def _entry(field: Field) -> ast.expr:
    kind = annotation(field.type)
    return kind if field.required else _subscript("NotRequired", [kind])


def _is_attribute(key: str) -> bool:
    # Names with two leading underscores are rewritten inside a class body, and so would no longer be the key.
    return key.isidentifier() and key.isascii() and not keyword.iskeyword(key) and not key.startswith("__")


def _subscript(base: str, parts: list[ast.expr]) -> ast.Subscript:
    return ast.Subscript(value=name(base), slice=parts[0] if len(parts) == 1 else ast.Tuple(elts=parts))


def _either(parts: list[ast.expr]) -> ast.expr:
    joined = parts[0]
    for part in parts[1:]:
        joined = ast.BinOp(left=joined, op=ast.BitOr(), right=part)
    return joined


def function(identifier: str, arguments: ast.arguments, body: list[ast.stmt], *, returns: ast.expr | None) -> ast.FunctionDef:
    """A plain function."""
    checked = name(identifier).id
    return ast.FunctionDef(name=checked, args=arguments, body=body, decorator_list=[], returns=returns, lineno=1, **_TYPE_PARAMS)
