"""The same tools as TypeScript declarations: names are checked, all else is a JSON literal or a comment."""

import json
import re
from typing import assert_never

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import Stub, stub_doc, stub_of
from gristmill.catalog.types.type_tree import Field, ListOf, MapOf, Named, OneOf, Plain, Record, TupleOf, Type, Union

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
_WORDS = frozenset(
    """
    await break case catch class const continue debugger default delete do else enum export extends false finally for
    function if implements import in instanceof interface let new null package private protected public return static
    super switch this throw true try typeof var void while with yield
    """.split()
)


def typescript_of(stub: Stub) -> str:
    """The declarations of one tool: its interfaces, then a function that takes one object and returns a promise."""
    interfaces = [_interface(record) for record in (*stub.parameters.records, *stub.result.records)]
    return "\n\n".join([*interfaces, _function(stub)])


def typescript_server(catalog: Catalog, server: str) -> str:
    """The declarations of all tools of one server, as one module."""
    parts: list[str] = []
    taken: frozenset[str] = frozenset()
    for tool in catalog.of_server(server):
        stub = stub_of(tool, catalog.functions[tool.key], taken=taken)
        taken |= {record.name for record in (*stub.parameters.records, *stub.result.records)}
        parts.append(typescript_of(stub))
    return "\n\n".join(parts) + "\n"


def type_text(kind: Type) -> str:
    """``kind`` in TypeScript."""
    match kind:
        case Plain():
            return _PLAIN[kind.name]
        case OneOf():
            return " | ".join(_literal(value) for value in kind.values)
        case ListOf():
            return f"Array<{type_text(kind.item)}>"
        case TupleOf():
            return f"[{', '.join(map(type_text, kind.items))}]"
        case MapOf():
            return f"Record<string, {type_text(kind.value)}>"
        case Union():
            return " | ".join(map(type_text, kind.members))
        case Named():
            return _name(kind.name)
        case _:
            assert_never(kind)


def _interface(record: Record) -> str:
    return f"export interface {_name(record.name)} {{\n{_indent(_fields(record.fields))}\n}}"


def _function(stub: Stub) -> str:
    known = stub.parameters.known
    fields = tuple(Field(name=each.name, type=each.type, required=each.required, doc=each.doc) for each in known)
    lines = _fields(fields) + ("\n[name: string]: unknown;" if stub.parameters.open else "")
    optional = "" if any(each.required for each in known) else "?"
    arguments = f"args{optional}: {{\n{_indent(lines)}\n}}" if lines.strip() else ""
    doc = _comment(stub_doc(stub, with_parameters=False))
    return f"{doc}\nexport function {_name(stub.function)}({arguments}): Promise<{type_text(stub.result.type)}>;"


def _fields(fields: tuple[Field, ...]) -> str:
    lines: list[str] = []
    for field in fields:
        lines += [_comment(field.doc)] if field.doc else []
        lines.append(f"{_property(field.name)}{'' if field.required else '?'}: {type_text(field.type)};")
    return "\n".join(lines)


def _property(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else _literal(name)


def _literal(value: object) -> str:
    # ASCII escapes leave no line separator or quote that could end the literal.
    return json.dumps(value)


def _name(identifier: str) -> str:
    if not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f"{identifier!r} is not a TypeScript name")
    return f"{identifier}_" if identifier in _WORDS else identifier


def _comment(text: str) -> str:
    # The only way out of a comment is its end.
    lines = text.replace("*/", "*\u200a/").split("\n")
    if len(lines) == 1:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))
