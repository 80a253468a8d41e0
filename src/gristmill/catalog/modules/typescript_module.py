"""Renders the same tools as TypeScript declarations: names are checked, everything else is a JSON literal or a comment."""

import json
import re
from typing import assert_never

from gristmill.catalog.modules.tool_module import ToolStub, render_stub_doc
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

_PLAIN = {
    "any": "unknown",
    "never": "never",
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
# Words that cannot name a function or a namespace; property names may be anything.
_RESERVED_WORDS = frozenset(
    """
    await break case catch class const continue debugger default delete do else enum export extends false finally for
    function if implements import in instanceof interface let new null package private protected public return static
    super switch this throw true try typeof var void while with yield
    """.split()
)


def render_typescript_stub(stub: ToolStub) -> str:
    """Returns the declarations of one tool: its interfaces, then a function that takes one object and returns a promise."""
    interfaces = [_render_interface(record) for record in (*stub.parameters.records, *stub.result.records)]
    return "\n\n".join([*interfaces, _render_function(stub)])


def render_type(kind: Type) -> str:
    """Returns ``kind`` in TypeScript."""
    match kind:
        case PlainType():
            return _PLAIN[kind.name]
        case OneOf():
            return " | ".join(_render_literal(value) for value in kind.values)
        case ListOf():
            return f"Array<{render_type(kind.item)}>"
        case TupleOf():
            return f"[{', '.join(map(render_type, kind.items))}]"
        case MapOf():
            return f"Record<string, {render_type(kind.value)}>"
        case UnionType():
            return " | ".join(map(render_type, kind.members))
        case NamedType():
            return _check_name(kind.name)
        case _:
            assert_never(kind)


def _render_interface(record: RecordType) -> str:
    return f"export interface {_check_name(record.name)} {{\n{_indent_lines(_render_fields(record.fields))}\n}}"


def _render_function(stub: ToolStub) -> str:
    known = stub.parameters.known
    fields = tuple(RecordField(name=each.name, type=each.type, required=each.required, doc=each.doc) for each in known)
    lines = _render_fields(fields) + ("\n[name: string]: unknown;" if stub.parameters.open else "")
    optional = "" if any(each.required for each in known) else "?"
    arguments = f"args{optional}: {{\n{_indent_lines(lines)}\n}}" if lines.strip() else ""
    doc = _render_comment(render_stub_doc(stub, with_parameters=False))
    return f"{doc}\nexport function {_check_name(stub.function)}({arguments}): Promise<{render_type(stub.result.type)}>;"


def _render_fields(fields: tuple[RecordField, ...]) -> str:
    lines: list[str] = []
    for field in fields:
        lines += [_render_comment(field.doc)] if field.doc else []
        lines.append(f"{_render_property(field.name)}{'' if field.required else '?'}: {render_type(field.type)};")
    return "\n".join(lines)


def _render_property(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else _render_literal(name)


def _render_literal(value: object) -> str:
    # ASCII escapes leave no line separator or quote that could end the literal.
    return json.dumps(value)


def _check_name(identifier: str) -> str:
    if not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f"{identifier!r} is not a TypeScript name")
    return f"{identifier}_" if identifier in _RESERVED_WORDS else identifier


def _render_comment(text: str) -> str:
    # Only `*/` ends a comment, so it is broken up.
    lines = text.replace("*/", "*\u200a/").split("\n")
    if len(lines) == 1:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


def _indent_lines(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))
