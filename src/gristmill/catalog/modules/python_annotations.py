"""Turns type values into Python annotations and classes, as AST nodes with literals only; no source text is pasted together."""

import ast
import keyword
import sys
from collections.abc import Sequence, Set
from typing import Any, assert_never

from gristmill.catalog.types.type_tree import (
    ListOf,
    MapOf,
    NamedType,
    OneOf,
    PlainType,
    RecordField,
    RecordType,
    TupleOf,
    Type,
    UnionType,
)

TYPING_NAMES = frozenset({"Any", "Literal", "Never", "NotRequired", "TypedDict"})
# Python 3.12 made this field of class and function nodes mandatory; 3.11 does not know it.
_TYPE_PARAMS: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
_PLAIN = {"any": "Any", "never": "Never", "string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def build_annotation(kind: Type) -> ast.expr:
    """Returns the annotation for ``kind``, to be used under ``from __future__ import annotations``."""
    match kind:
        case PlainType():
            return ast.Constant(None) if kind.name == "null" else build_name(_PLAIN[kind.name])
        case OneOf():
            return _build_subscript("Literal", [ast.Constant(value) for value in kind.values])
        case ListOf():
            return _build_subscript("list", [build_annotation(kind.item)])
        case TupleOf():
            return _build_subscript("tuple", [build_annotation(item) for item in kind.items])
        case MapOf():
            return _build_subscript("dict", [build_name("str"), build_annotation(kind.value)])
        case UnionType():
            return _join_alternatives([build_annotation(member) for member in kind.members])
        case NamedType():
            return build_name(kind.name)
        case _:
            assert_never(kind)


def build_record_classes(records: Sequence[RecordType]) -> list[ast.stmt]:
    """Returns the ``TypedDict`` of each record; uses the call form where a key cannot be written as an attribute."""
    ahead = {record.name for record in records}
    written: list[ast.stmt] = []
    for record in records:
        plain = all(_can_be_attribute(field.name) for field in record.fields)
        written.append(_build_class_form(record) if plain else _build_call_form(record, ahead))
        ahead.discard(record.name)
    return written


def build_name(identifier: str) -> ast.Name:
    """Returns a reference to ``identifier``, which must be a Python name: this is the last check before it becomes code."""
    if not identifier.isidentifier() or keyword.iskeyword(identifier):
        raise ValueError(f"{identifier!r} is not a Python name")
    return ast.Name(identifier)


def build_docstring(text: str) -> ast.Expr:
    """Returns ``text`` as a docstring statement."""
    return ast.Expr(ast.Constant(text))


def find_typing_names(nodes: list[ast.stmt]) -> list[str]:
    """Returns the names of ``typing`` that the statements use, sorted."""
    used = {node.id for statement in nodes for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return sorted(used & TYPING_NAMES)


def _build_class_form(record: RecordType) -> ast.ClassDef:
    body: list[ast.stmt] = []
    for field in record.fields:
        body.append(ast.AnnAssign(target=build_name(field.name), annotation=_build_field_annotation(field), value=None, simple=1))
        if field.doc:
            body.append(build_docstring(field.doc))
    return ast.ClassDef(
        name=build_name(record.name).id,
        bases=[build_name("TypedDict")],
        keywords=[],
        body=body or [ast.Pass()],
        decorator_list=[],
        **_TYPE_PARAMS,
    )


def _build_call_form(record: RecordType, ahead: Set[str]) -> ast.Assign:
    entries = [_build_field_annotation(field) for field in record.fields]
    # This form is evaluated at import, when this record and the later ones do not exist yet.
    entries = [build_name("Any") if _mentions_any(entry, ahead) else entry for entry in entries]
    keys: list[ast.expr | None] = [ast.Constant(field.name) for field in record.fields]
    call = ast.Call(
        func=build_name("TypedDict"), args=[ast.Constant(record.name), ast.Dict(keys=keys, values=entries)], keywords=[]
    )
    return ast.Assign(targets=[build_name(record.name)], value=call, lineno=1)


def _mentions_any(entry: ast.expr, names: Set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(entry))


def _build_field_annotation(field: RecordField) -> ast.expr:
    kind = build_annotation(field.type)
    return kind if field.required else _build_subscript("NotRequired", [kind])


def _can_be_attribute(key: str) -> bool:
    # Names with two leading underscores are rewritten inside a class body, and would no longer match the key.
    return key.isidentifier() and key.isascii() and not keyword.iskeyword(key) and not key.startswith("__")


def _build_subscript(base: str, parts: list[ast.expr]) -> ast.Subscript:
    return ast.Subscript(value=build_name(base), slice=parts[0] if len(parts) == 1 else ast.Tuple(elts=parts))


def _join_alternatives(parts: list[ast.expr]) -> ast.expr:
    joined = parts[0]
    for part in parts[1:]:
        joined = ast.BinOp(left=joined, op=ast.BitOr(), right=part)
    return joined


def build_function(
    identifier: str, arguments: ast.arguments, body: list[ast.stmt], *, returns: ast.expr | None
) -> ast.FunctionDef:
    """Returns the definition of a plain function."""
    checked = build_name(identifier).id
    return ast.FunctionDef(name=checked, args=arguments, body=body, decorator_list=[], returns=returns, lineno=1, **_TYPE_PARAMS)
