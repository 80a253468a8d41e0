"""A tool to be read: its signature in one line, the types that it names, and all of it without the code behind.

The same typed view as in the modules that code imports, so what is read is what is called.
"""

import ast
from collections.abc import Callable
from typing import TypeVar

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.python_annotations import annotation, docstring, function, record_classes
from gristmill.catalog.modules.tool_module import (
    UNTYPABLE,
    LearnedResult,
    Stub,
    calls_text,
    checked_source,
    stub_arguments,
    stub_doc,
    stub_of,
    untyped_stub,
)
from gristmill.catalog.modules.typescript_module import typescript_of
from gristmill.catalog.search.render_hits import SKILLS
from gristmill.catalog.types.loose_schema import parameters
from gristmill.catalog.types.type_tree import Field, Record
from gristmill.model import Tool

_MAX_DEFAULT = 40
_SHORT = str | bool | int | float
_T = TypeVar("_T")


def signature_line(catalog: Catalog, tool: Tool, learned: LearnedResult | None = None) -> str:
    """``search_issues(query: str, state: Literal['open', 'closed'] = 'open') -> list[Issue]``."""
    return _readable(catalog, tool, _signature, learned)


def type_lines(catalog: Catalog, tool: Tool, learned: LearnedResult | None = None) -> list[str]:
    """``Issue = {number: int, title: str, closed_by?: str}`` for every type that the signature names."""
    return _readable(catalog, tool, _types, learned)


def python_text(catalog: Catalog, tool: Tool, learned: LearnedResult | None = None) -> str:
    """The import, the types, and the function with its whole documentation."""
    module, name = catalog.modules[tool.server], catalog.functions[tool.key]
    home = SKILLS if tool.server == SKILLS else f"servers.{module}"
    return f"from {home} import {name}\n\n{_readable(catalog, tool, _source, learned)}"


def typescript_text(catalog: Catalog, tool: Tool, learned: LearnedResult | None = None) -> str:
    """The same as TypeScript declarations."""
    return _readable(catalog, tool, typescript_of, learned)


def _readable(catalog: Catalog, tool: Tool, write: Callable[[Stub], _T], learned: LearnedResult | None) -> _T:
    name = catalog.functions[tool.key]
    try:
        return write(stub_of(tool, name, learned))
    except UNTYPABLE:
        return write(untyped_stub(tool, name))


def _signature(stub: Stub) -> str:
    arguments = ast.unparse(stub_arguments(stub, _defaults(stub)))
    learned = f"  # result learned from {calls_text(stub.learned_calls)}" if stub.learned_calls else ""
    return f"{stub.function}({arguments}) -> {ast.unparse(annotation(stub.result.type))}{learned}"


def _types(stub: Stub) -> list[str]:
    return [_record(each) for each in (*stub.parameters.records, *stub.result.records)]


def _source(stub: Stub) -> str:
    body: list[ast.stmt] = [docstring(stub_doc(stub)), ast.Expr(ast.Constant(...))]
    arguments = stub_arguments(stub, _defaults(stub))
    shown = function(stub.function, arguments, body, returns=annotation(stub.result.type))
    return checked_source([*record_classes([*stub.parameters.records, *stub.result.records]), shown])


def _defaults(stub: Stub) -> list[ast.expr]:
    """What the server says it takes when nothing is given, where it says so in a few characters."""
    schemas = parameters(stub.tool)
    told = [schemas.get(each.name, {}).get("default", ...) for each in stub.parameters.known if not each.required]
    return [ast.Constant(value if isinstance(value, _SHORT) and len(str(value)) <= _MAX_DEFAULT else ...) for value in told]


def _record(record: Record) -> str:
    return f"{record.name} = {{{', '.join(map(_field, record.fields))}}}"


def _field(field: Field) -> str:
    return f"{field.name}{'' if field.required else '?'}: {ast.unparse(annotation(field.type))}"
